/**
 * MySQL: one pool for each process, ids as strings, transactions that name their isolation level,
 * and errors recognised by their number.
 */
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import mysql, {
  type Pool,
  type PoolConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2/promise';
import { CommitUnknown, MysqlSilent } from '../errors.ts';

export type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';

export type Isolation = 'READ COMMITTED' | 'REPEATABLE READ';
export type Value = string | number | boolean | Date | null;
type Queryable = Pool | PoolConnection;

export interface PoolOptions {
  readonly connectionLimit: number;
  /** A connection that is silent for this time while a command waits is destroyed. */
  readonly answerMs: number;
}

export function openPool(url: string, { connectionLimit, answerMs }: PoolOptions): Pool {
  const pool = mysql.createPool({
    uri: url,
    connectionLimit,
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true, // A BIGINT above 2^53 would lose its last digits as a number.
    connectTimeout: 2_000,
    enableKeepAlive: true,
  });
  const wires = new Set<Wire>();
  wiresOf.set(pool, wires);
  pool.on('connection', (opened) => {
    // The types name another class than the one that is emitted.
    const wire = opened as unknown as Wire;
    limitSilence(pool, wire, answerMs);
    wires.add(wire);
    wire.stream.once('close', () => wires.delete(wire));
  });
  return pool;
}

const wiresOf = new WeakMap<Pool, Set<Wire>>();

/** Every statement that waits for an answer fails with `cause`. The pool opens new connections. */
export function destroyConnections(pool: Pool, cause: Error): void {
  for (const { stream } of wiresOf.get(pool) ?? []) stream.destroy(cause);
}

/** A connection below its promises. Each command emits `end` when its answer is complete. */
interface Wire extends EventEmitter {
  readonly stream: Socket;
  /** Its id in MySQL. */
  readonly threadId: number;
  addCommand(command: EventEmitter): EventEmitter;
}

/**
 * Destroys the connection when it is silent while a command waits: its packets may be dropped
 * without a word. mysql2's own `timeout` ends the wait only: the connection would stay in its pool,
 * and a late answer would be taken for the answer to the next command.
 */
function limitSilence(pool: Pool, wire: Wire, answerMs: number): void {
  const add = wire.addCommand.bind(wire);
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    wire.stream.destroy(new MysqlSilent(answerMs));
    endSession(pool, wire.threadId, answerMs).catch(() => {}); // MySQL is away: it has no session.
  };
  const startAgain = () => {
    clearTimeout(timer);
    if (waiting > 0) timer = setTimeout(giveUp, answerMs).unref();
  };
  wire.addCommand = (command) => {
    waiting += 1;
    if (waiting === 1) startAgain();
    command.once('end', () => {
      waiting -= 1;
      startAgain();
    });
    return add(command);
  };
  wire.stream.on('data', startAgain);
  wire.stream.once('close', () => clearTimeout(timer));
}

interface Session extends RowDataPacket {
  readonly Id: number | string;
  readonly Time: number | string;
}

/**
 * MySQL may not hear that the connection is gone. Its transaction would keep its row locks for
 * hours, and every other sale of the voucher would wait for them.
 */
async function endSession(pool: Pool, threadId: number, silentMs: number): Promise<void> {
  const connection = await pool.getConnection();
  try {
    const [sessions] = await connection.query<Session[]>('SHOW PROCESSLIST');
    const session = sessions.find(({ Id }) => Number(Id) === threadId);
    // After a failover it is another connection's id: that one was not silent for so long.
    const isSame = session && Number(session.Time) >= Math.floor(silentMs / 1_000) - 1;
    if (isSame) await connection.query(`KILL ${threadId}`);
  } finally {
    connection.release();
  }
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

/**
 * A refused value: data truncated, wrong value, check constraint violated. MySQL gives these the
 * SQLSTATE of warnings or of general errors, MariaDB that of its kind.
 */
const refusedValues: readonly number[] = [1265, 1366, 3819];

export const isDuplicateKey = (error: unknown): boolean =>
  errorNumber(error) === numbers.duplicateKey;

/** Another transaction was in the way: the whole transaction can be retried. */
export const isContention = (error: unknown): boolean =>
  errorNumber(error) === numbers.deadlock || errorNumber(error) === numbers.lockWaitTimeout;

/** The server refused the row itself (SQLSTATE 22 or 23): a retry will not help. */
export function isRowRefused(error: unknown): boolean {
  const number = errorNumber(error);
  if (number !== undefined && refusedValues.includes(number)) return true;
  return /^2[23]/.test(sqlStateOf(error));
}

/** The server answered with an error about this statement: another one may still succeed. */
export const isStatementRefused = (error: unknown): boolean =>
  sqlStateOf(error) !== '' && !isContention(error);

/** Empty when the error is not the server's. */
function sqlStateOf(error: unknown): string {
  const state = (error as { sqlState?: unknown } | null)?.sqlState;
  return typeof state === 'string' ? state : '';
}

function errorNumber(error: unknown): number | undefined {
  const number = (error as { errno?: unknown } | null)?.errno;
  return typeof number === 'number' ? number : undefined;
}
