/** Reads a sale in Redis at one moment. */
import type { Redis } from 'ioredis';
import type { ShardKeys } from './sale-keys.ts';
import { loadScript, runScript } from './scripts.ts';

const script = loadScript('sale/read-sale');

type Fields = Readonly<Record<string, string>>;

export interface SaleInRedis {
  /** The hash of the voucher; empty when Redis does not have it. */
  readonly sale: Fields;
  /** How many. */
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
