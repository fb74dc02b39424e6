/** A lock that MySQL keeps for as long as a connection of its own lives. */
import type { RowDataPacket } from 'mysql2/promise';
import { openConnection } from './mysql-pool.ts';

/** @returns undefined, and `work` was not begun, when another process has it. */
export async function withMysqlLock<T>(
  mysqlUrl: string,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const db = await openConnection(mysqlUrl);
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
