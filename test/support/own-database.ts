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

/** The whole server, until the test is over. */
export async function makeReadOnly(): Promise<void> {
  const root = await asRoot();
  onTestFinished(async () => {
    await root.query('SET GLOBAL read_only = OFF');
    await root.end();
  });
  await root.query('SET GLOBAL read_only = ON');
}

/** A variable of the whole server, until the test is over; then it is as before. */
export async function setGlobal(
  name: string,
  value: number | string,
  before: number | string = 1,
): Promise<void> {
  const root = await asRoot();
  onTestFinished(async () => {
    await root.query(`SET GLOBAL ${name} = ${before}`);
    await root.end();
  });
  await root.query(`SET GLOBAL ${name} = ${value}`);
}

/** @returns its MYSQL_URL. */
export async function ownDatabase(): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const root = await asRoot();
  onTestFinished(async () => {
    await root.query(`DROP DATABASE ${name}`);
    await root.end();
  });
  await root.query(`CREATE DATABASE ${name}`);
  await root.query(`GRANT ALL ON ${name}.* TO 'lockstep'@'127.0.0.1'`);
  const url = new URL(ownLab.environment['MYSQL_URL'] ?? '');
  url.pathname = name;
  return url.href;
}

/** An account that reads and writes the rows of this database, and no more. @returns its URL */
export async function accountWithRows(databaseUrl: string): Promise<string> {
  const rows = `SELECT, INSERT, UPDATE, DELETE ON ${new URL(databaseUrl).pathname.slice(1)}.*`;
  return accountWith(databaseUrl, rows);
}

/** An account with these rights. @returns its URL */
export async function accountWith(databaseUrl: string, ...rights: string[]): Promise<string> {
  const url = new URL(databaseUrl);
  const user = `rows_${randomBytes(6).toString('hex')}`;
  const root = await asRoot();
  onTestFinished(async () => {
    await root.query(`DROP USER '${user}'@'127.0.0.1'`);
    await root.end();
  });
  await root.query(`CREATE USER '${user}'@'127.0.0.1' IDENTIFIED BY 'rows'`);
  for (const right of rights) await root.query(`GRANT ${right} TO '${user}'@'127.0.0.1'`);
  url.username = user;
  url.password = 'rows';
  return url.href;
}
