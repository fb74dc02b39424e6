/**
 * When the writer moves behind one address, an open connection stays with the old server: it takes
 * no writes any more, and what it shows grows old. So a pool leaves all its connections as soon as
 * the server of one takes no writes, or no session; and the idle ones are asked now and then.
 */
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Pool } from 'mysql2/promise';
import { givesNoSession, isInterrupted, isReadOnly } from './mysql.ts';

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

/** @param wires the open ones, kept by the caller. */
export function followWriter(pool: Pool, wires: ReadonlySet<Wire>, askEveryMs: number): void {
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
