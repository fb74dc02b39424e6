/** MariaDB instead of MySQL: it speaks the same protocol, and Debian has a package for it. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import mysql from 'mysql2/promise';
import { programPath } from '../processes.ts';
import type { Server } from './server.ts';

const account = { user: 'lockstep', password: 'lockstep', database: 'lockstep' };

export const mariadbUrl = (port: number): string =>
  `mysql://${account.user}:${account.password}@127.0.0.1:${port}/${account.database}`;

/** Its name changes with the tables, so that the data of older tables is deleted. */
const installed = 'installed-with-lab-options';

export const hasData = (folder: string): boolean => existsSync(join(folder, 'mariadb', installed));

export function mariadbServer(folder: string, port: number): Server {
  const data = join(folder, 'mariadb');
  const firstStatements = join(folder, 'mariadb.sql');
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  return {
    name: 'mariadb',
    port,
    prepare: async () => {
      writeFileSync(firstStatements, accountStatements());
      if (!hasData(folder)) await install(data, asRoot);
    },
    program: () => ({
      command: programPath('mariadbd'),
      args: [
        '--no-defaults',
        ...asRoot,
        `--datadir=${data}`,
        `--socket=${join(data, 'mariadb.sock')}`,
        `--pid-file=${join(data, 'mariadb.pid')}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--init-file=${firstStatements}`,
        '--skip-name-resolve',
        '--max-connections=300',
        '--innodb-buffer-pool-size=256M',
        '--innodb-flush-log-at-trx-commit=1',
        '--innodb-lock-wait-timeout=5',
        '--innodb-rollback-on-timeout=ON',
      ],
      logFile: join(folder, 'mariadb.log'),
    }),
    answers: () => answers(port),
  };
}

/** Deletes the incomplete data folder of an interrupted install first. */
async function install(data: string, asRoot: readonly string[]): Promise<void> {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  const args = ['--no-defaults', ...asRoot, `--datadir=${data}`, '--skip-test-db'];
  await execa(programPath('mariadb-install-db'), [
    ...args,
    '--auth-root-authentication-method=normal',
  ]);
  writeFileSync(join(data, installed), '');
}

/** An init file has one statement on each line. */
const accountStatements = (): string => `
CREATE DATABASE IF NOT EXISTS ${account.database};
CREATE USER IF NOT EXISTS '${account.user}'@'127.0.0.1' IDENTIFIED BY '${account.password}';
GRANT ALL ON ${account.database}.* TO '${account.user}'@'127.0.0.1';
`;

async function answers(port: number): Promise<boolean> {
  const connection = await mysql.createConnection({ uri: mariadbUrl(port), connectTimeout: 1_000 });
  try {
    await connection.query('SELECT 1');
    return true;
  } finally {
    connection.destroy();
  }
}
