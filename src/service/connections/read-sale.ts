/** Reads a sale in Redis at one moment, and a large hash in small parts. */
import type { Redis } from 'ioredis';
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

function asFields(words: readonly string[]): Fields {
  const fields: Record<string, string> = {};
  for (let at = 0; at < words.length; at += 2) fields[words[at] ?? ''] = words[at + 1] ?? '';
  return fields;
}

/**
 * HGETALL of a million buyers would stop the Redis that sells. What the hash had all the time is in
 * the answer; what came or went meanwhile may be.
 * @param isKept of a hash that does not fit in memory, a part.
 */
export async function scanHash(
  redis: Redis,
  key: string,
  isKept: (field: string, value: string) => boolean = () => true,
): Promise<[field: string, value: string][]> {
  const entries = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, part] = await redis.hscan(key, cursor, 'COUNT', 1_000);
    for (let index = 0; index < part.length; index += 2) {
      const [field = '', value = ''] = part.slice(index, index + 2);
      if (isKept(field, value)) entries.set(field, value);
    }
    cursor = next;
  } while (cursor !== '0');
  return [...entries];
}
