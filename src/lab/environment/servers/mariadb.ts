/** MariaDB instead of MySQL: it speaks the same protocol, and Debian has a package for it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { programPath } from '../processes.ts';
import {
  accountStatements,
  answers,
  asRoot,
  installedMark,
  removeData,
  settings,
  temporaryFolder,
} from './database.ts';
import type { Server } from './server.ts';

/**
 * From 11.8 on, it would refuse a change of a row that another transaction has changed since this
 * one read it (error 1020). MySQL does not: what must break there would hold here.
 */
const asMysql = ['--loose-innodb-snapshot-isolation=OFF'];

export function mariadbServer(folder: string, port: number): Server {
  const data = join(folder, 'mariadb');
  const firstStatements = join(folder, 'mariadb.sql');
  return {
    name: 'mariadb',
    port,
    prepare: async () => {
      writeFileSync(firstStatements, accountStatements());
      if (!existsSync(join(data, installedMark))) await install(data);
    },
    program: () => ({
      command: programPath('mariadbd'),
      args: ['--no-defaults', ...asRoot(), ...settings(data, port, firstStatements), ...asMysql],
      logFile: join(folder, 'mariadb.log'),
    }),
    answers: () => answers(port),
  };
}

async function install(data: string): Promise<void> {
  removeData(data);
  mkdirSync(data, { recursive: true });
  const args = ['--no-defaults', ...asRoot(), `--datadir=${data}`, '--skip-test-db'];
  const all = [...args, '--auth-root-authentication-method=normal'];
  const env = { TMPDIR: temporaryFolder(data) };
  await execa(programPath('mariadb-install-db'), all, { env });
  writeFileSync(join(data, installedMark), '');
}
