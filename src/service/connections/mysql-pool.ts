/**
 * The connections to MySQL: one pool for each process, ids as strings, times in UTC, and an end for
 * a connection that is silent. Its packets may be dropped without a word.
 */

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import mysql, { type Connection, type Pool, type RowDataPacket } from 'mysql2/promise';
import { serviceError } from '../errors.ts';
import { givesNoSession, isInterrupted, isReadOnly } from './mysql.ts';

export interface PoolOptions {
  readonly connectionLimit: number;
  /** Most statements that wait for a connection; 0 for no limit. */
  readonly queueLimit?: number;
  /** A connection that is silent for this time while a command waits is destroyed. */
  readonly answerMs: number;
  /** How often the idle connections are asked whether their server still takes writes. */
  readonly askEveryMs?: number;
}

/** Of one connection: a batch of another size is another statement. */
const statementsKept = 100;

export function openPool(
  url: string,
  { connectionLimit, queueLimit = 0, answerMs, askEveryMs = 5_000 }: PoolOptions,
): Pool {
  const pool = mysql.createPool({
    uri: url,
    connectionLimit,
    queueLimit,
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true, // A BIGINT above 2^53 would lose its last digits as a number.
    connectTimeout: 2_000,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000, // Else two hours: a network forgets an idle connection sooner.
    maxPreparedStatements: statementsKept,
  });
  const wires = new Set<Wire>();
  wiresOf.set(pool, wires);
  pool.on('connection', (opened) => {
    const wire = opened as unknown as Wire; // The types name another class.
    limitSilence(url, wire, answerMs);
    wire.query(inUtc, (error) => error && wire.stream.destroy(error)); // Before any other command.
    wires.add(wire);
    wire.stream.once('close', () => wires.delete(wire));
  });
  followWriter(pool, wires, askEveryMs);
  return pool;
}

/** CURRENT_TIMESTAMP is in the zone of the session, and a DATETIME does not say in which. */
const inUtc = "SET time_zone = '+00:00'";

/** A connection of its own, beside the pool. The caller destroys it. */
export async function openConnection(url: string): Promise<Connection> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 2_000 });
  await connection.query(inUtc);
  return connection;
}

const wiresOf = new WeakMap<Pool, Set<Wire>>();

/** Every statement that waits for an answer fails with `cause`. The pool opens new connections. */
export function destroyConnections(pool: Pool, cause: Error): void {
  for (const { stream } of wiresOf.get(pool) ?? []) stream.destroy(cause);
}

/**
 * Destroys the connection when it is silent while a command waits. mysql2's own `timeout` ends the
 * wait only: the connection would stay in its pool, and a late answer would be taken for the answer
 * to the next command.
 */
function limitSilence(url: string, wire: Wire, answerMs: number): void {
  const add = wire.addCommand.bind(wire);
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    wire.stream.destroy(serviceError('MYSQL_SILENT', answerMs));
    endSession(url, wire.threadId, answerMs).catch(() => {}); // MySQL is away: it has no session.
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
async function endSession(url: string, threadId: number, silentMs: number): Promise<void> {
  // Not of the pool: all of its connections may wait for this session.
  const connection = await openConnection(url);
  try {
    const [sessions] = await connection.query<Session[]>('SHOW PROCESSLIST');
    const session = sessions.find(({ Id }) => Number(Id) === threadId);
    // After a failover it is another connection's id: that one was not silent for so long.
    const isSame = session && Number(session.Time) >= Math.floor(silentMs / 1_000) - 1;
    if (isSame) await connection.query(`KILL ${threadId}`);
  } finally {
    connection.destroy();
  }
}

/**
 * A lock that MySQL keeps for as long as a connection of its own lives.
 * @returns undefined, and `work` was not begun, when another process has it.
 */
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

/** A connection below its promises. */
export interface Wire extends EventEmitter {
  readonly stream: Socket;
  /** Its id in MySQL. */
  readonly threadId: number;
  addCommand(command: Command): EventEmitter;
  query(sql: string, answered: (error: Error | null) => void): void;
  release(): void;
  destroy(): void;
}

/** Each emits `end` when its answer is complete. */
interface Command extends EventEmitter {
  onResult?: (error: unknown, ...answer: unknown[]) => void;
}

/**
 * Refused by a server that takes no writes from this account; it waits for no lock, also while a
 * backup locks all tables. A proxy that sends each SELECT to a reader sends this to the writer.
 */
const beginToWrite = 'START TRANSACTION READ WRITE';

/** A comment in both statements, because in a log of the server they look like a transaction. */
export const ofWriterQuestion = '/* asks for the writer */';

/**
 * When the writer moves behind one address, an open connection stays with the old server: it takes
 * no writes any more, and what it shows grows old. So a pool leaves all its connections as soon as
 * the server of one takes no writes, or no session; and the idle ones are asked now and then.
 * @param wires the open ones, kept by the caller.
 */
function followWriter(pool: Pool, wires: ReadonlySet<Wire>, askEveryMs: number): void {
  const idle = new Set<unknown>();
  const left = new WeakSet<Wire>();
  let timer: NodeJS.Timeout | undefined;
  const leaveAll = () => {
    for (const wire of wires) {
      left.add(wire);
      if (idle.has(wire)) wire.destroy();
    }
  };
  const ask = () => {
    if (wires.size === 0) timer = void clearInterval(timer);
    // One at least: of a busy pool, none may be idle.
    for (let count = Math.min(wires.size, idle.size || 1); count > 0; count--)
      askToWrite(pool).catch(() => {});
  };
  pool.on('acquire', (taken) => idle.delete(taken));
  pool.on('release', (given) => idle.add(given));
  pool.on('connection', (opened) => {
    const wire = opened as unknown as Wire; // The types name another class.
    timer ??= setInterval(ask, askEveryMs).unref();
    wire.stream.once('close', () => idle.delete(wire));
    onError(wire, (error) => isOver(error) && leaveAll());
    const release = wire.release.bind(wire);
    wire.release = () => (left.has(wire) ? wire.destroy() : release());
  });
}

const isOver = (error: unknown): boolean =>
  isReadOnly(error) || (givesNoSession(error) && !isInterrupted(error));

/** What `onError` hears is the answer. */
async function askToWrite(pool: Pool): Promise<void> {
  const db = await pool.getConnection();
  try {
    await db.query(`${beginToWrite} ${ofWriterQuestion}`);
    await db.query(`ROLLBACK ${ofWriterQuestion}`);
    db.release();
  } catch {
    db.destroy();
  }
}

function onError(wire: Wire, heard: (error: unknown) => void): void {
  const add = wire.addCommand.bind(wire);
  wire.addCommand = (command) => {
    const { onResult } = command;
    if (onResult)
      command.onResult = (error, ...answer) => {
        if (error) heard(error);
        onResult.call(command, error, ...answer);
      };
    return add(command);
  };
}
