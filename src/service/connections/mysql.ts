/**
 * MySQL: statements, transactions that name their isolation level, and errors recognised by their
 * number.
 */

import type { Pool, PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { serviceError } from '../errors.ts';

export type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ';
export type Value = string | number | boolean | Date | null;
export type Queryable = Pool | PoolConnection;

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
 * @throws COMMIT_UNKNOWN when COMMIT may have taken effect; otherwise the error of `work`, or that
 *   with which COMMIT was refused.
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
      throw isContention(cause) || isReadOnly(cause)
        ? cause
        : serviceError('COMMIT_UNKNOWN').causedBy(cause);
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

/** In one snapshot: what `work` reads belongs together while others write. It must not write. */
export async function snapshot<T>(
  pool: Pool,
  work: (connection: PoolConnection) => Promise<T>,
): Promise<T> {
  const connection = await pool.getConnection();
  try {
    await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const result = await work(connection);
    await connection.rollback();
    connection.release();
    return result;
  } catch (error) {
    connection.destroy(); // Its snapshot may still be open: the next query would read the past.
    throw error;
  }
}

/** The error numbers of the server that the code handles. */
const duplicateKey = 1062;
/** A row that changed since it was read (innodb_snapshot_isolation), a lock wait, a deadlock. */
const contention: readonly number[] = [1020, 1205, 1213];

/**
 * A refused value: data truncated, wrong value, check constraint violated. MySQL gives these the
 * SQLSTATE of warnings or of general errors, MariaDB that of its kind.
 */
const refusedValues: readonly number[] = [1265, 1366, 3819];

export const isDuplicateKey = (error: unknown): boolean => errorNumber(error) === duplicateKey;

/** Another transaction was in the way: the whole transaction can be retried. */
export const isContention = (error: unknown): boolean => isOneOf(contention, error);

/** Its disk or a table is full. */
const full: readonly number[] = [1021, 1026, 1114];
/** 1030 is any error of the storage engine; its message has that of the system: 28 is ENOSPC. */
const engineError = 1030;
const noSpace = /\berror 28\b/;
const readOnly: readonly number[] = [1290, 1792, 1836, 1874];

export const isReadOnly = (error: unknown): boolean => isOneOf(readOnly, error);

/** The server takes no writes for now. That says nothing about the row. */
export const takesNoWrites = (error: unknown): boolean => isFull(error) || isReadOnly(error);

/** A new connection does not show it: a small change of a row needs no space. */
export const isFull = (error: unknown): boolean =>
  isOneOf(full, error) ||
  (errorNumber(error) === engineError && noSpace.test((error as Error).message));

/** KILL QUERY ended the statement; the session goes on. */
const interrupted = 1317;

export const isInterrupted = (error: unknown): boolean => errorNumber(error) === interrupted;

/**
 * The server gives no session, or has ended this one: too many connections (1040, 1203, 1226), a
 * shutdown (1053), KILL (1317, 1927), an administrator (4031); Galera without a quorum (1047), and
 * ProxySQL without a server (9001). Also too many prepared statements (1461): a connection that
 * ends gives its own back.
 */
const sessionsRefused: readonly number[] = [
  ...[1040, 1047, 1053, 1203, 1226, 1317, 1461, 1927, 4031, 9001],
];

export const givesNoSession = (error: unknown): boolean => isOneOf(sessionsRefused, error);

/** The server refused the row itself (SQLSTATE 22 or 23): a retry will not help. */
export const isRowRefused = (error: unknown): boolean =>
  isOneOf(refusedValues, error) || /^2[23]/.test(sqlStateOf(error));

/**
 * The server answered with an error about this statement, and not about the session (SQLSTATE 08)
 * or all writes: another statement may still succeed.
 */
export const isStatementRefused = (error: unknown): boolean =>
  /^(?!08)./.test(sqlStateOf(error)) &&
  !isContention(error) &&
  !takesNoWrites(error) &&
  !givesNoSession(error);

/** Empty when the error is not the server's. */
function sqlStateOf(error: unknown): string {
  const state = (error as { sqlState?: unknown } | null)?.sqlState;
  return typeof state === 'string' ? state : '';
}

function isOneOf(known: readonly number[], error: unknown): boolean {
  const number = errorNumber(error);
  return number !== undefined && known.includes(number);
}

function errorNumber(error: unknown): number | undefined {
  const number = (error as { errno?: unknown } | null)?.errno;
  return typeof number === 'number' ? number : undefined;
}
