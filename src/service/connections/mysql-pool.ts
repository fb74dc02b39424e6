/**
 * The connections to MySQL: one pool for each process, ids as strings, times in UTC, and an end for
 * a connection that is silent. Its packets may be dropped without a word.
 */

import mysql, { type Connection, type Pool, type RowDataPacket } from 'mysql2/promise';
import { serviceError } from '../errors.ts';
import { followWriter, type Wire } from './mysql-writer.ts';

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
