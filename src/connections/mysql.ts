/**
 * MySQL: one pool for each process, ids as strings, transactions that name their isolation level,
 * and errors recognised by their number.
 */
import mysql, {
  type Pool,
  type PoolConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2/promise';
import { CommitUnknown } from '../errors.ts';

export type { Pool, PoolConnection } from 'mysql2/promise';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ';
export type Value = string | number | boolean | Date | null;
type Queryable = Pool | PoolConnection;

export function openPool(url: string, connectionLimit: number): Pool {
  return mysql.createPool({
    uri: url,
    connectionLimit,
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true, // A BIGINT above 2^53 would lose its last digits as a number.
    connectTimeout: 2_000,
    enableKeepAlive: true,
  });
}

export async function select<Row>(
  db: Queryable,
  sql: string,
  values: readonly Value[] = [],
): Promise<Row[]> {
  const [rows] = await db.execute<RowDataPacket[]>(sql, [...values]);
  return rows as Row[];
}

/** @returns the number of matched rows: 0 when the condition of an `UPDATE … WHERE` was false. */
export async function change(
  db: Queryable,
  sql: string,
  values: readonly Value[] = [],
): Promise<number> {
  const [result] = await db.execute<ResultSetHeader>(sql, [...values]);
  return result.affectedRows;
}

/**
 * Runs `work` in one transaction. After any error it rolls back explicitly, because error 1205
 * undoes one statement only. If the rollback also fails, it destroys the connection.
 * @throws CommitUnknown when COMMIT was sent and not answered; otherwise the error of `work`.
 */
export async function transaction<T>(
  pool: Pool,
  isolation: Isolation,
  work: (connection: PoolConnection) => Promise<T>,
): Promise<T> {
  const connection = await pool.getConnection();
  try {
    await connection.query(`SET TRANSACTION ISOLATION LEVEL ${isolation}`);
    await connection.beginTransaction();
    const result = await work(connection);
    await connection.commit().catch((cause: unknown) => {
      throw new CommitUnknown(cause);
    });
    connection.release();
    return result;
  } catch (error) {
    await connection.rollback().then(
      () => connection.release(),
      () => connection.destroy(),
    );
    throw error;
  }
}

/** The error numbers of the server that the code handles. */
const numbers = { duplicateKey: 1062, lockWaitTimeout: 1205, deadlock: 1213 } as const;

export const isDuplicateKey = (error: unknown): boolean =>
  errorNumber(error) === numbers.duplicateKey;

/** Another transaction was in the way: the whole transaction can be retried. */
export const isContention = (error: unknown): boolean =>
  errorNumber(error) === numbers.deadlock || errorNumber(error) === numbers.lockWaitTimeout;

/** The server refused the row itself (SQLSTATE 22 or 23): a retry will not help. */
export function isRowRefused(error: unknown): boolean {
  const state = (error as { sqlState?: unknown } | null)?.sqlState;
  return typeof state === 'string' && /^2[23]/.test(state);
}

function errorNumber(error: unknown): number | undefined {
  const number = (error as { errno?: unknown } | null)?.errno;
  return typeof number === 'number' ? number : undefined;
}
