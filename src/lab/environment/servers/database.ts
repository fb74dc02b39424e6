/**
 * The database of the lab: MariaDB, which is Debian's package, or MySQL itself. They share the
 * protocol, the account and the settings; they answer some statements differently, so both are
 * tested.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { createConnection } from 'mysql2/promise';
import { labError } from '../../errors.ts';
import { programPath, type Server } from '../processes.ts';

/** After it, a statement that waits for a row ends with an error. */
export const rowWaitSeconds = 5;
export const databases = ['mariadb', 'mysql'] as const;
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
const accountStatements = `
CREATE DATABASE IF NOT EXISTS ${account.database};
CREATE USER IF NOT EXISTS '${account.user}'@'127.0.0.1' IDENTIFIED BY '${account.password}';
GRANT ALL ON ${account.database}.* TO '${account.user}'@'127.0.0.1';
`;

const asRoot = (): string[] => (process.getuid?.() === 0 ? ['--user=root'] : []);

/** Of its own: MariaDB deletes what others have in a shared one, when it starts. */
function temporaryFolder(data: string): string {
  const folder = `${data}-temporary`;
  mkdirSync(folder, { recursive: true });
  return folder;
}

export const connectionsMax = 300;

/** The same for both, so that the rungs meet the same waits and the same durability. */
const settings = (data: string, port: number, firstStatements: string): string[] => [
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

interface DatabaseProgram {
  /** What it is started with, beside the settings that both share. */
  start(): { readonly command: string; readonly args: readonly string[] };
  /** Fills a folder that does not exist. */
  install(data: string): Promise<unknown>;
}

/**
 * From 11.8 on, it would refuse a change of a row that another transaction has changed since this
 * one read it (error 1020). MySQL does not: what must break there would hold here.
 */
const asMysql = '--loose-innodb-snapshot-isolation=OFF';

const mariadb: DatabaseProgram = {
  start: () => ({
    command: programPath('mariadbd'),
    args: ['--no-defaults', ...asRoot(), asMysql],
  }),
  install(data) {
    mkdirSync(data, { recursive: true });
    const args = ['--no-defaults', ...asRoot(), `--datadir=${data}`, '--skip-test-db'];
    const all = [...args, '--auth-root-authentication-method=normal'];
    return execa(programPath('mariadb-install-db'), all, {
      env: { TMPDIR: temporaryFolder(data) },
    });
  },
};

/**
 * From the packages of Debian unstable: set-up unpacks them here (`npm run setup -- --with-mysql`).
 * It runs with its own loader and libraries, so that nothing is installed.
 */
const root = fileURLToPath(new URL('../../../../.lockstep/mysql', import.meta.url));
const libraries = ['x86_64-linux-gnu', 'x86_64-linux-gnu/mysql/private', 'mysql/private'];

const mysql: DatabaseProgram = {
  /** The loader, and the arguments that make it run MySQL. @throws PROGRAM_MISSING */
  start() {
    const server = join(root, 'usr', 'sbin', 'mysqld');
    if (!existsSync(server))
      throw labError('PROGRAM_MISSING', 'mysqld (npm run setup -- --with-mysql)');
    const path = libraries.map((folder) => join(root, 'usr', 'lib', folder)).join(':');
    const command = join(root, 'usr', 'lib64', 'ld-linux-x86-64.so.2');
    return { command, args: ['--library-path', path, server, ...ownFolders()] };
  },
  install(data) {
    const { command, args } = this.start();
    return execa(command, [...args, `--datadir=${data}`, '--initialize-insecure']);
  },
};

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

/** As MySQL says it, without its path. */
export async function mysqlVersion(): Promise<string> {
  const { command, args } = mysql.start();
  const { stdout } = await execa(command, [...args, '--version']);
  return stdout.slice(stdout.indexOf('mysqld '));
}

export function databaseServer(name: Database, folder: string, port: number): Server {
  const program = { mariadb, mysql }[name];
  const data = join(folder, name);
  const firstStatements = join(folder, `${name}.sql`);
  return {
    name,
    port,
    prepare: async () => {
      writeFileSync(firstStatements, accountStatements);
      if (!existsSync(join(data, installedMark))) await install(program, data);
    },
    program: () => {
      const { command, args } = program.start();
      const all = [...args, ...settings(data, port, firstStatements)];
      return { command, args: all, logFile: join(folder, `${name}.log`) };
    },
    answers: () => answers(port),
  };
}

/** MySQL wants no file in its folder: the mark is written afterwards. */
async function install(program: DatabaseProgram, data: string): Promise<void> {
  rmSync(data, { recursive: true, force: true }); // Incomplete, of an interrupted install.
  await program.install(data);
  writeFileSync(join(data, installedMark), '');
}

async function answers(port: number): Promise<boolean> {
  const connection = await createConnection({ uri: databaseUrl(port), connectTimeout: 1_000 });
  try {
    await connection.query('SELECT 1');
    return true;
  } finally {
    connection.destroy();
  }
}
