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
    db.destroy(); // With the connection ends its lock.
  }
}
