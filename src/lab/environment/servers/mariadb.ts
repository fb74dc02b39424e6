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
      args: ['--no-defaults', ...asRoot(), ...settings(data, port, firstStatements)],
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
