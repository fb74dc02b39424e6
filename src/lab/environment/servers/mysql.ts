/**
 * MySQL itself, from the packages of Debian unstable. Set-up unpacks them into `.lockstep/mysql`
 * (`npm run setup -- --with-mysql`); it runs with its own loader and libraries, so that nothing is
 * installed.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { labError } from '../../errors.ts';
import {
  accountStatements,
  answers,
  asRoot,
  installedMark,
  removeData,
  settings,
} from './database.ts';
import type { Server } from './server.ts';

const root = fileURLToPath(new URL('../../../../.lockstep/mysql', import.meta.url));
const libraries = ['x86_64-linux-gnu', 'x86_64-linux-gnu/mysql/private', 'mysql/private'];

/** The loader, and the arguments that make it run MySQL. @throws PROGRAM_MISSING */
function program(): { readonly command: string; readonly args: string[] } {
  const server = join(root, 'usr', 'sbin', 'mysqld');
  if (!existsSync(server))
    throw labError('PROGRAM_MISSING', 'mysqld (npm run setup -- --with-mysql)');
  const path = libraries.map((folder) => join(root, 'usr', 'lib', folder)).join(':');
  const command = join(root, 'usr', 'lib64', 'ld-linux-x86-64.so.2');
  return { command, args: ['--library-path', path, server, ...ownFolders()] };
}

/** As MySQL says it, without its path. */
export async function mysqlVersion(): Promise<string> {
  const { command, args } = program();
  const { stdout } = await execa(command, [...args, '--version']);
  return stdout.slice(stdout.indexOf('mysqld '));
}

const ownFolders = (): string[] => [
  '--no-defaults',
  ...asRoot(),
  `--basedir=${join(root, 'usr')}`,
  `--lc-messages-dir=${join(root, 'usr/share/mysql')}`,
  `--character-sets-dir=${join(root, 'usr/share/mysql/charsets')}`,
  `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`,
  '--mysqlx=OFF',
  '--secure-file-priv=',
];

export function mysqlServer(folder: string, port: number): Server {
  const data = join(folder, 'mysql');
  const firstStatements = join(folder, 'mysql.sql');
  return {
    name: 'mysql',
    port,
    prepare: async () => {
      writeFileSync(firstStatements, accountStatements());
      if (!existsSync(join(data, installedMark))) await install(folder, data);
    },
    program: () => {
      const { command, args } = program();
      const all = [...args, ...settings(data, port, firstStatements)];
      return { command, args: all, logFile: join(folder, 'mysql.log') };
    },
    answers: () => answers(port),
  };
}

/** MySQL wants an empty folder: its mark is written afterwards. */
async function install(folder: string, data: string): Promise<void> {
  removeData(data);
  mkdirSync(folder, { recursive: true });
  const { command, args } = program();
  await execa(command, [...args, `--datadir=${data}`, '--initialize-insecure']);
  writeFileSync(join(data, installedMark), '');
}
