/**
 * What MariaDB and MySQL share in the lab: the account, the settings, and how to tell that they are
 * up.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';

/** After it, a statement that waits for a row ends with an error. */
export const rowWaitSeconds = 5;
export const databases = ['mariadb', 'mysql'] as const;
/** MariaDB is Debian's package; MySQL answers some statements differently, so both are tested. */
export type Database = (typeof databases)[number];

export const defaultDatabase: Database = 'mariadb';

export const databaseName = 'lockstep';
const account = { user: 'lockstep', password: 'lockstep', database: databaseName };

export const databaseUrl = (port: number): string =>
  `mysql://${account.user}:${account.password}@127.0.0.1:${port}/${account.database}`;

/** For people who want to look into it: both have this client. */
export const databaseShell = (port: number): string =>
  `mysql -h127.0.0.1 -P${port} -u${account.user} -p${account.password} ${account.database}`;

/** Its name changes with the tables, so that the data of older tables is deleted. */
export const installedMark = 'installed-with-lab-options';

/** An init file has one statement on each line. */
export const accountStatements = (): string => `
CREATE DATABASE IF NOT EXISTS ${account.database};
CREATE USER IF NOT EXISTS '${account.user}'@'127.0.0.1' IDENTIFIED BY '${account.password}';
GRANT ALL ON ${account.database}.* TO '${account.user}'@'127.0.0.1';
`;

export const asRoot = (): string[] => (process.getuid?.() === 0 ? ['--user=root'] : []);

/** Of its own: MariaDB deletes what others have in a shared one, when it starts. */
export function temporaryFolder(data: string): string {
  const folder = `${data}-temporary`;
  mkdirSync(folder, { recursive: true });
  return folder;
}

export const connectionsMax = 300;

/** The same for both, so that the rungs meet the same waits and the same durability. */
export const settings = (data: string, port: number, firstStatements: string): string[] => [
  `--datadir=${data}`,
  `--tmpdir=${temporaryFolder(data)}`,
  `--socket=${join(data, 'server.sock')}`,
  `--pid-file=${join(data, 'server.pid')}`,
  `--port=${port}`,
  '--bind-address=127.0.0.1',
  `--init-file=${firstStatements}`,
  '--skip-name-resolve',
  `--max-connections=${connectionsMax}`,
  '--innodb-buffer-pool-size=256M',
  '--innodb-flush-log-at-trx-commit=1',
  `--innodb-lock-wait-timeout=${rowWaitSeconds}`,
];

export async function answers(port: number): Promise<boolean> {
  const connection = await mysql.createConnection({
    uri: databaseUrl(port),
    connectTimeout: 1_000,
  });
  try {
    await connection.query('SELECT 1');
    return true;
  } finally {
    connection.destroy();
  }
}

/** The incomplete data folder of an interrupted install. */
export const removeData = (data: string): void => rmSync(data, { recursive: true, force: true });
