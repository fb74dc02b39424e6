/**
 * When the writer moves behind one address, an open connection stays with the old server: it takes
 * no writes any more, and what it shows grows old. So a pool leaves all its connections as soon as
 * the server of one takes no writes, or no session; and the idle ones are asked now and then.
 */
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Pool, RowDataPacket } from 'mysql2/promise';
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
 * Not a write: it would wait while a backup locks all tables, and with it every idle connection.
 * An account that may write to a read-only server only connects more often.
 */
const roleQuery = 'SELECT @@global.read_only AS readOnly, @@global.innodb_read_only AS innodb';

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
      void isOnReader(pool).then((isOld) => isOld && leaveAll());
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

const isOnReader = (pool: Pool): Promise<boolean> =>
  pool.query<RowDataPacket[]>(roleQuery).then(
    ([[row]]) => Object.values(row ?? {}).some((value) => !['0', 'OFF'].includes(String(value))),
    () => false, // `onError` has heard it too.
  );

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
