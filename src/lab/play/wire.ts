/**
 * The commands that reach Redis and MySQL while a choice is played: Redis says them by MONITOR, the
 * database by its general log. Only those of this play: they name its voucher, one of its locks, or
 * one of its orders.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis, RedisOptions } from 'ioredis';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { ofWriterQuestion } from '../../service/connections/mysql-pool.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { allBegunChanges } from '../../service/orders/change-journal.ts';
import { connectAsRoot, endGeneralLog, rootUser } from '../environment/database-root.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Stage } from '../stage/stage.ts';
import { lockClients } from './lock-clients.ts';

export interface WireCommand {
  /** `redis-main`, `mariadb`; `redis-main, in Lua` for a command of a script. */
  readonly to: string;
  readonly text: string;
}

interface SeenCommand extends WireCommand {
  /** Milliseconds of the wall clock of its server. */
  readonly atMs: number;
}

interface LogRow extends RowDataPacket {
  readonly atMs: string;
  readonly text: string;
}

const heardWithinMs = 2_000;
const orderId = /\b\d{15,19}\b/g;

export class Wire {
  readonly #root: Connection;
  readonly #database: string;
  readonly #servers: readonly (readonly [string, Redis])[];
  readonly #monitors = new Map<string, Monitor>();
  #heard: SeenCommand[] = [];
  #marks = 0;
  #fromMs = '0';
  #voucher = /$^/;
  /** What names this play in a command, beside its voucher: its player, and its orders. */
  readonly #words = new Set<string>();

  private constructor(
    root: Connection,
    database: string,
    servers: readonly (readonly [string, Redis])[],
  ) {
    this.#root = root;
    this.#database = database;
    this.#servers = servers;
  }

  static async tap({ lab, connections }: Stage, rung: Rung): Promise<Wire> {
    const locks = lockClients(connections, rung);
    const servers = new Map([['redis-main', connections.redis('admin')], ...locks]);
    const root = await connectAsRoot(lab.dataFolder(lab.database));
    const wire = new Wire(root, lab.database, [...servers]);
    try {
      await root.query("SET GLOBAL log_output = 'TABLE'");
      await root.query('SET GLOBAL general_log = ON');
      await wire.#listen();
      return wire;
    } catch (error) {
      await wire.end();
      throw error;
    }
  }

  /** Also to a server that a choice has started again. */
  async #listen(): Promise<void> {
    for (const [server, { status, options }] of this.#servers) {
      if (status !== 'ready' || this.#monitors.get(server)?.isOpen()) continue;
      const hear = ({ isInLua, ...command }: MonitorLine) =>
        this.#heard.push({ to: isInLua ? `${server}, in Lua` : server, ...command });
      this.#monitors.set(server, await monitor(options, hear));
    }
  }

  async end(): Promise<void> {
    for (const { end } of this.#monitors.values()) end();
    await endGeneralLog(this.#root);
    await this.#root.end();
  }

  /** The play that is listened to. The id of a voucher is a short number: it counts in a key. */
  about(voucherId: string, player: string): void {
    this.#voucher = new RegExp(`:${voucherId}(?=[:\\s]|$)|'${voucherId}'`);
    this.#words.add(player);
  }

  /** What came until now is of no choice. */
  async skip(): Promise<void> {
    await this.#listen();
    await this.#hearAll();
    this.#heard = [];
    const [rows] = await this.#root.query<LogRow[]>(`SELECT ${msOf('NOW(6)')} AS atMs`);
    this.#fromMs = rows[0]?.atMs ?? '0';
  }

  /** Those since `skip`, in the order of time. */
  async take(): Promise<WireCommand[]> {
    await this.#hearAll();
    const heard = this.#heard.filter(({ text }) => this.#isNamed(text));
    const all = [...heard, ...(await this.#logged())];
    return all.sort((one, other) => one.atMs - other.atMs).map(({ to, text }) => ({ to, text }));
  }

  /** MONITOR has told everything once it tells a mark that was sent after it. */
  async #hearAll(): Promise<void> {
    this.#marks += 1;
    const mark = `mark-${this.#marks}`;
    const asked = this.#servers.filter(([server]) => this.#monitors.get(server)?.isOpen());
    for (const [, redis] of asked) await redis.echo(mark);
    const isHeard = ([server]: readonly [string, Redis]) =>
      this.#heard.some(({ to, text }) => to === server && text.toLowerCase() === `echo ${mark}`);
    await waitUntil('MONITOR', heardWithinMs, () => asked.every(isHeard), 2);
  }

  /** While a choice is played, nobody else has a transaction: one that names nothing is of it. */
  async #logged(): Promise<SeenCommand[]> {
    const [rows] = await this.#root.query<LogRow[]>(
      `SELECT ${msOf('event_time')} AS atMs, CONVERT(argument USING utf8mb4) AS text
       FROM mysql.general_log
       WHERE command_type IN ('Query', 'Execute') AND user_host NOT LIKE '${rootUser}%'
       HAVING atMs >= ? ORDER BY atMs`,
      [this.#fromMs],
    );
    const own = rows.filter(({ text }) => this.#isNamed(text) || isNameless(text));
    return own.map(({ atMs, text }) => ({
      to: this.#database,
      atMs: Number(atMs),
      text: text.replace(/\s+/g, ' ').trim(),
    }));
  }

  /** The ids of its orders are learnt from what names it. */
  #isNamed(text: string): boolean {
    const isNamed =
      this.#voucher.test(text) || [...this.#words].some((word) => text.includes(word));
    if (isNamed) for (const id of text.match(orderId) ?? []) this.#words.add(id);
    return isNamed;
  }
}

const msOf = (time: string): string => `UNIX_TIMESTAMP(${time}) * 1000`;
/** A statement that was prepared before the log began is logged with `?` for its values. */
const isNameless = (text: string): boolean =>
  !isOfItsProcess(text) &&
  (text.includes('?') ||
    /^(SET TRANSACTION|START TRANSACTION|BEGIN|COMMIT|ROLLBACK)\b/i.test(text));

/** What a process asks by itself, once in a while. */
const ofItsProcess = ['store_epoch', ofWriterQuestion, allBegunChanges];
const isOfItsProcess = (text: string): boolean => ofItsProcess.some((each) => text.includes(each));

export interface MonitorLine {
  /** Milliseconds of the server's wall clock. */
  readonly atMs: number;
  /** Sent by a Lua script. */
  readonly isInLua: boolean;
  readonly text: string;
}

const line = /^\+(\d+\.\d+) \[\d+ (\S+)\] (.*)$/;
/** Quotes and line ends are escaped in it. */
const word = /"((?:[^"\\]|\\.)*)"/g;

export interface Monitor {
  readonly isOpen: () => boolean;
  readonly end: () => void;
}

/**
 * Every command that reaches a Redis server of the lab, by MONITOR. On a connection of our own: a
 * line that comes together with the answer to MONITOR is taken for an answer by ioredis, which
 * throws.
 */
export async function monitor(
  { host = '127.0.0.1', port = 6_379 }: RedisOptions,
  hear: (command: MonitorLine) => void,
): Promise<Monitor> {
  const socket = connect(port, host);
  socket.on('error', () => {}); // A choice may stop its server.
  await once(socket, 'connect');
  const lines = createInterface({ input: socket });
  const begun = once(lines, 'line');
  lines.on('line', (text) => {
    const command = parsed(text);
    if (command) hear(command);
  });
  socket.write('MONITOR\r\n');
  await begun;
  return { isOpen: () => socket.readyState === 'open', end: () => socket.destroy() };
}

function parsed(text: string): MonitorLine | null {
  const [, seconds, source, rest = ''] = line.exec(text) ?? [];
  if (seconds === undefined) return null;
  const words = [...rest.matchAll(word)].map(([, each = '']) => each.replaceAll('\\"', '"'));
  return { atMs: Number(seconds) * 1_000, isInLua: source === 'lua', text: words.join(' ') };
}
