/** Reads a sale in Redis at one moment, and a large hash in small parts. */
import type { Redis } from 'ioredis';
import { type Pair, pairsOf } from './pairs.ts';
import type { ShardKeys } from './sale-keys.ts';
import { loadScript, runScript } from './scripts.ts';

const script = loadScript('sale/read-sale');

type Fields = Readonly<Record<string, string>>;

export interface SaleInRedis {
  /** The hash of the voucher; empty when Redis does not have it. */
  readonly sale: Fields;
  readonly buyers: number;
  /** Of a bucket. */
  readonly transfers: Fields;
}

/** Of a shard, or of one bucket. */
export async function readSale(
  redis: Redis,
  { voucher, buyers, transfers }: ShardKeys,
  voucherId: string,
): Promise<SaleInRedis> {
  const keys = [voucher(voucherId), buyers(voucherId), transfers(voucherId)];
  const answer = await runScript(redis, script, keys, []);
  const [, sale, count, moves] = answer as [string, string[], number, string[]];
  return { sale: asFields(sale), buyers: count, transfers: asFields(moves) };
}

const asFields = (words: readonly string[]): Fields => Object.fromEntries(pairsOf(words));

/** HSCAN or HMGET of this many takes Redis less than a millisecond. */
const fieldsAtOnce = 1_000;

/**
 * HGETALL of a million buyers would stop the Redis that sells. What the hash had all the time is in
 * at least one of the parts; what came or went meanwhile may be.
 * @returns lists of fields and values, see `pairsOf`
 */
export async function* hashParts(
  redis: Redis,
  key: string,
  count = fieldsAtOnce,
): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, words] = await redis.hscan(key, cursor, 'COUNT', count);
    yield words;
    cursor = next;
  } while (cursor !== '0');
}

/** Each field once. @param isKept of a hash that does not fit in memory, a part. */
export async function scanHash(
  redis: Redis,
  key: string,
  isKept: (field: string, value: string) => boolean = () => true,
): Promise<Pair[]> {
  const entries = new Map<string, string>();
  for await (const words of hashParts(redis, key))
    for (const [field, value] of pairsOf(words))
      if (isKept(field, value)) entries.set(field, value);
  return [...entries];
}

/** Those of these fields that the hash has. */
export async function readFields(
  redis: Redis,
  key: string,
  fields: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let from = 0; from < fields.length; from += fieldsAtOnce) {
    const page = fields.slice(from, from + fieldsAtOnce);
    const values = await redis.hmget(key, ...page);
    for (const [index, value] of values.entries())
      if (value !== null) found.set(page[index] ?? '', value);
  }
  return found;
}
