/** A database of the test's own, and an empty one of Redis's own databases on the quiet Redis. */
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { connectAsRoot } from '../../src/lab/environment/database-root.ts';
import { databases } from '../../src/lab/environment/servers/database.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import type { Pool } from '../../src/service/connections/mysql.ts';
import { migrate } from '../../src/service/connections/schema.ts';
import { quiet, quietRedis, testConnections } from './connections.ts';
import { ownLab } from './own-lab.ts';

export type OwnStores = Readonly<Record<'MYSQL_URL' | 'REDIS_URL' | 'ORDER_DURABILITY', string>>;

export async function ownStores(): Promise<OwnStores> {
  const MYSQL_URL = await ownDatabase();
  await migrate(MYSQL_URL);
  const REDIS_URL = `${quietRedis()}/${randomInt(1, 16)}`;
  const stores = { MYSQL_URL, REDIS_URL, ORDER_DURABILITY: 'everysec' };
  const connections = testConnections(stores);
  const redis = connections.redis('admin');
  await connections.ready();
  await redis.flushdb();
  onTestFinished(async () => {
    await redis.flushdb();
  });
  return stores;
}

/** A process of the service: its connections are open. Closed with the test. */
export async function openProcess(stores: Readonly<Record<string, string>>): Promise<Connections> {
  const connections = testConnections({ CLAIM_IDLE_MS: '100', BATCH_GATHER_MS: '0', ...stores });
  for (const role of ['admin', 'purchase'] as const) connections.redis(role);
  await connections.ready();
  return connections;
}

/** A process that has compared the epochs, as every process of the service does when it starts. */
export async function startedProcess(
  stores: Readonly<Record<string, string>>,
): Promise<Connections> {
  const connections = await openProcess(stores);
  await agreeOnEpoch(connections, quiet);
  return connections;
}

/** @returns a connection that the caller ends. */
export const asRoot = () => {
  const folders = databases.map((database) => join(ownLab.folder, database));
  return connectAsRoot(folders.find((data) => existsSync(join(data, 'server.sock'))) ?? '');
};

/** Done now, and undone when the test is over. */
async function untilTestEnds(statements: readonly string[], undo: string): Promise<void> {
  const root = await asRoot();
  onTestFinished(async () => {
    await root.query(undo);
    await root.end();
  });
  for (const statement of statements) await root.query(statement);
}

/** A variable of the whole server, until the test is over; then it is as before. */
export const setGlobal = (name: string, value: number | string, before: number | string = 1) =>
  untilTestEnds([`SET GLOBAL ${name} = ${value}`], `SET GLOBAL ${name} = ${before}`);

/** The whole server, until the test is over. */
export const makeReadOnly = () => setGlobal('read_only', 'ON', 'OFF');

/** @returns what lets go of the row; until then another transaction has it. */
export async function lockRow(pool: Pool, row: string): Promise<() => Promise<void>> {
  const other = await pool.getConnection();
  await other.beginTransaction();
  await other.query(`SELECT 1 FROM ${row} FOR UPDATE`);
  return async () => {
    await other.rollback();
    other.release();
  };
}

/** Whether a session runs a statement with this text. */
export async function isRunning(pool: Pool, text: string): Promise<boolean> {
  const [sessions] = await pool.query('SHOW PROCESSLIST');
  return JSON.stringify(sessions).includes(text);
}

const newName = (kind: string) => `${kind}_${randomBytes(6).toString('hex')}`;

/** Empty, on the lab's server, and dropped when the test is over. @returns its MYSQL_URL. */
export async function ownDatabase(): Promise<string> {
  const name = newName('test');
  const grant = `GRANT ALL ON ${name}.* TO 'lockstep'@'127.0.0.1'`;
  await untilTestEnds([`CREATE DATABASE ${name}`, grant], `DROP DATABASE ${name}`);
  const url = new URL(ownLab.environment['MYSQL_URL'] ?? '');
  url.pathname = name;
  return url.href;
}

/** An account that reads and writes the rows of this database, and no more. @returns its URL */
export function accountWithRows(databaseUrl: string): Promise<string> {
  const rows = `SELECT, INSERT, UPDATE, DELETE ON ${new URL(databaseUrl).pathname.slice(1)}.*`;
  return accountWith(databaseUrl, rows);
}

/** An account with these rights. @returns its URL */
export async function accountWith(databaseUrl: string, ...rights: string[]): Promise<string> {
  const username = newName('rows');
  const account = `'${username}'@'127.0.0.1'`;
  const grants = rights.map((right) => `GRANT ${right} TO ${account}`);
  const create = `CREATE USER ${account} IDENTIFIED BY 'rows'`;
  await untilTestEnds([create, ...grants], `DROP USER ${account}`);
  return Object.assign(new URL(databaseUrl), { username, password: 'rows' }).href;
}
