/** The contract of every erratum: a sentence of the course notes, and a play of what is so. */
import { randomUUID } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { type Pool, select } from '../../service/connections/mysql.ts';
import { type RedisRole, whenReady } from '../../service/connections/redis.ts';
import type { Bilingual } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';

export interface Erratum {
  /** What the notes say or do. */
  readonly says: Bilingual;
  /** What is so. */
  readonly truth: Bilingual;
  /**
   * Sends to the real servers what the notes would, and tells what they answered.
   * @returns false when the servers did not do what `truth` says
   */
  play(trial: ErratumTrial): Promise<boolean>;
}

export interface ErratumTrial {
  readonly stage: Stage;
  readonly redis: Redis;
  /** Of this trial alone: a key of Redis, or what its keys and names begin with. */
  readonly key: string;
  /** One line of what was sent, and what came back, in both languages. */
  readonly tell: (en: string, zh: string) => void;
}

/** What a command was refused with; null when it was not. */
export const refusalOf = (sent: Promise<unknown>): Promise<string | null> =>
  sent.then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

/** @returns how often this event has come since then */
export function timesOf(emitter: EventEmitter, event: string): () => number {
  let times = 0;
  emitter.on(event, () => {
    times += 1;
  });
  return () => times;
}

/** A connection that nobody shares. */
export async function withClient<T>(
  { connections }: Stage,
  role: RedisRole,
  work: (client: Redis) => Promise<T>,
): Promise<T> {
  const client = connections.newRedis(role);
  try {
    await whenReady(client, 5_000);
    return await work(client);
  } finally {
    client.disconnect();
  }
}

/** Two tables with an id, and these columns; dropped afterwards. */
export async function withTables<T>(
  { connections }: Stage,
  columns: readonly string[],
  work: (db: Pool, tables: readonly [string, string]) => Promise<T>,
): Promise<T> {
  const pool = connections.mysql();
  const id = randomUUID().slice(0, 8);
  const tables = [`erratum_${id}_0`, `erratum_${id}_1`] as const;
  const all = ['id BIGINT AUTO_INCREMENT PRIMARY KEY', ...columns].join(', ');
  for (const table of tables) await pool.query(`CREATE TABLE ${table} (${all})`);
  try {
    return await work(pool, tables);
  } finally {
    for (const table of tables) await pool.query(`DROP TABLE ${table}`);
  }
}

export const rowsIn = async (db: Pool, table: string): Promise<number> =>
  Number((await select<{ n: number }>(db, `SELECT COUNT(*) AS n FROM ${table}`))[0]?.n);

/** As in the last chapter of the notes: 0 bought, 1 sold out, 2 bought before; no declared keys. */
export const notesScript = `
local voucherId, userId = ARGV[1], ARGV[2]
local stockKey, orderKey = 'seckill:stock:' .. voucherId, 'seckill:order:' .. voucherId
if (tonumber(redis.call('get', stockKey)) <= 0) then return 1 end
if (redis.call('sismember', orderKey, userId) == 1) then return 2 end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, userId)
return 0`;

export interface NotesVoucher {
  readonly stockKey: string;
  readonly buyersKey: string;
  buy(user: string, by?: Redis): Promise<number>;
  stock(): Promise<string | null>;
}

/** Puts the stock into Redis, as the notes do, and removes it afterwards. */
export async function withNotesVoucher<T>(
  { redis, key }: Pick<ErratumTrial, 'redis' | 'key'>,
  stock: number,
  work: (voucher: NotesVoucher) => Promise<T>,
): Promise<T> {
  const [stockKey, buyersKey] = [`seckill:stock:${key}`, `seckill:order:${key}`];
  await redis.set(stockKey, stock);
  try {
    return await work({
      stockKey,
      buyersKey,
      buy: async (user, by = redis) => Number(await by.eval(notesScript, 0, key, user)),
      stock: () => redis.get(stockKey),
    });
  } finally {
    await redis.del(stockKey, buyersKey);
  }
}
