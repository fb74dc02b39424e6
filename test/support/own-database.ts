/** A database of the test's own, on the lab's server: empty, and dropped when the test is over. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { onTestFinished } from 'vitest';
import { databases } from '../../src/lab/environment/servers/database.ts';
import { ownLab } from './own-lab.ts';

/** The server lets root in on its socket only. */
const sockets = () => databases.map((database) => join(ownLab.folder, database, 'server.sock'));

/** @returns a connection that the caller ends. */
export const asRoot = () =>
  mysql.createConnection({
    socketPath: sockets().find((path) => existsSync(path)) ?? '',
    user: 'root',
  });

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

const newName = (kind: string) => `${kind}_${randomBytes(6).toString('hex')}`;

/** @returns its MYSQL_URL. */
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
