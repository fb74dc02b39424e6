/** What the buckets of a voucher have, and what is on its way between them. */
import type { Redis } from 'ioredis';
import type { BucketCount, SaleKeys, ShardKeys } from '../../connections/sale-keys.ts';

/** Stock of each bucket: an equal part; the first buckets have the rest. */
export const equalParts = (stock: number, count: number): number[] =>
  Array.from({ length: count }, (_, number) => Math.floor((stock + count - 1 - number) / count));

export interface StockOfBuckets {
  /** Of all buckets, with what is in transit; null when Redis does not have every bucket. */
  readonly stock: number | null;
  /** Units that were taken out of one bucket, and not yet put into another. */
  readonly inTransit: number;
  /** Transfers that are not settled, as `from>to:number:units`. */
  readonly open: readonly string[];
  /** How many transfers there were. */
  readonly transfers: number;
}

export interface BucketState {
  readonly stock: string | null;
  readonly transfers: Readonly<Record<string, string>>;
}

/** While stock moves, the buckets are read at slightly different moments. */
export async function stockOfBuckets(
  redis: Redis,
  keys: SaleKeys,
  voucherId: string,
  count: BucketCount,
): Promise<StockOfBuckets> {
  const read = keys.bucketsOf(voucherId, count).map((each) => readBucket(redis, each, voucherId));
  return sumOfBuckets(await Promise.all(read));
}

export function sumOfBuckets(buckets: readonly BucketState[]): StockOfBuckets {
  const fields = buckets.flatMap(({ transfers }) => Object.entries(transfers));
  const sent = fields.filter(([field]) => field.startsWith('sent:'));
  const open = buckets.flatMap(({ transfers }, from) =>
    Object.entries(transfers)
      .filter(([field]) => field.startsWith('open:'))
      .map(([field, transfer]) => `${from}>${field.slice('open:'.length)}:${transfer}`),
  );
  const inTransit = open.reduce((sum, each) => sum + unitsInTransit(buckets, each), 0);
  const isWhole = buckets.every(({ stock }) => stock !== null);
  const kept = buckets.reduce((sum, { stock }) => sum + Number(stock), 0);
  const transfers = sent.reduce((sum, [, number]) => sum + Number(number), 0);
  return { stock: isWhole ? kept + inTransit : null, inTransit, open, transfers };
}

async function readBucket(
  redis: Redis,
  { voucher, transfers }: ShardKeys,
  voucherId: string,
): Promise<BucketState> {
  const [stock, found] = await Promise.all([
    redis.hget(voucher(voucherId), 'stock'),
    redis.hgetall(transfers(voucherId)),
  ]);
  return { stock, transfers: found };
}

/** None when the borrower has noted them. */
function unitsInTransit(buckets: readonly BucketState[], open: string): number {
  const [from = '', to = '', number, units] = open.split(/[>:]/);
  const got = buckets[Number(to)]?.transfers[`got:${from}`] ?? 0;
  return Number(number) > Number(got) ? Number(units) : 0;
}
