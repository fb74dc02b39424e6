/** A lock that MySQL keeps for as long as a connection of its own lives. */
import mysql, { type RowDataPacket } from 'mysql2/promise';

/** @returns undefined, and `work` was not begun, when another process has it. */
export async function withMysqlLock<T>(
  mysqlUrl: string,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const db = await mysql.createConnection({ uri: mysqlUrl, connectTimeout: 2_000 });
  try {
    const [[row]] = await db.query<RowDataPacket[]>('SELECT GET_LOCK(?, 0) AS got', [name]);
    return Number(row?.['got']) === 1 ? await work() : undefined;
  } finally {
    // MySQL notices later that a connection has ended: the next one might be refused until then.
    const release = { sql: 'SELECT RELEASE_LOCK(?)', values: [name], timeout: 2_000 };
    await db.query(release).catch(() => {}); // A connection that broke has released it.
    db.destroy();
  }
}
