/** The administrator of the lab's database. Its faults need more than the service's account. */
import { join } from 'node:path';
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import { connectionsMax, databaseName, rowWaitSeconds } from './servers/database.ts';

/** The account of the administrator. */
export const rootUser = 'root';

/**
 * By the socket, where no password is asked for.
 * @param data the data folder of the database.
 */
export const connectAsRoot = (data: string): Promise<Connection> =>
  mysql.createConnection({ socketPath: join(data, 'server.sock'), user: rootUser });

export async function asDatabaseRoot<T>(
  data: string,
  work: (root: Connection) => Promise<T>,
): Promise<T> {
  const root = await connectAsRoot(data);
  try {
    return await work(root);
  } finally {
    await root.end();
  }
}

/** While it is there, an insert of an order is answered with the error of a full table. */
export const fullTrigger = `${databaseName}.orders_full`;

/** What the faults change is as it was when the database started. */
export const restoreSettings = (data: string): Promise<void> =>
  asDatabaseRoot(data, async (root) => {
    await root.query('SET GLOBAL read_only = OFF');
    await allowConnections(root, connectionsMax);
    await setRowWait(root, rowWaitSeconds);
    await endGeneralLog(root);
    await root.query(`DROP TRIGGER IF EXISTS ${fullTrigger}`);
  });

/** The log of all statements, and what it has. */
export async function endGeneralLog(root: Connection): Promise<void> {
  await root.query('SET GLOBAL general_log = OFF');
  await root.query("SET GLOBAL log_output = 'FILE'");
  await root.query('TRUNCATE mysql.general_log');
}

/** Of the sessions that begin from now on. */
export async function setRowWait(root: Connection, seconds: number): Promise<void> {
  await root.query(`SET GLOBAL innodb_lock_wait_timeout = ${seconds}`);
}

export async function allowConnections(root: Connection, most: number): Promise<void> {
  await root.query(`SET GLOBAL max_connections = ${most}`);
}

interface Session extends RowDataPacket {
  readonly Id: number;
  readonly User: string;
}

/** The name of the account of a session that is still logging in. */
export const loggingIn = 'unauthenticated user';

/** The ids of the sessions that these accounts have in the database. */
export async function sessionsOf(root: Connection, ...users: string[]): Promise<number[]> {
  const [sessions] = await root.query<Session[]>('SHOW PROCESSLIST');
  return sessions.filter(({ User }) => users.includes(User)).map(({ Id }) => Number(Id));
}

const unknownThread = 1094;

/** A session that has ended meanwhile is no error. */
export async function killSession(root: Connection, id: number): Promise<void> {
  await root.query(`KILL ${id}`).catch((error: { readonly errno?: number }) => {
    if (error.errno !== unknownThread) throw error;
  });
}
