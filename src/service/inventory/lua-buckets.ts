/**
 * Idea. The script of `lua-stream`, with the stock of one voucher split over buckets in several
 *   shards. A hash of the user id names the bucket, so one order per user is still one call on one
 *   shard. An empty bucket borrows from another one; "sold out" is answered when all are empty.
 * Holds while. As `lua-stream`, on each shard. A transfer that was cut half-way is finished by the
 *   next reader.
 * Breaks when. Redis loses acknowledged writes, as in `lua-stream`. When it loses that units were
 *   taken out of a bucket, and not that they were put into another, MySQL refuses what is too much.
 * Source. Split counters of hot rows, as in Oracle's and Alibaba's stock buckets. Added here: named
 *   transfers, and a "sold out" that is proven.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys, ShardKeys } from '../connections/sale-keys.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import type { Inventory } from './inventory.ts';
import { equalParts, stockOfBuckets } from './shared/bucket-stock.ts';
import { type BorrowResult, BucketTransfers } from './shared/bucket-transfers.ts';
import { prepareIn, stockMoves } from './shared/claims.ts';
import {
  noEpoch,
  type SaleAnswer,
  type ScriptOptions,
  sellByScript,
} from './shared/purchase-script.ts';
import { ReplicaAcknowledgement } from './shared/replica-acknowledgement.ts';
import { SoldOutMemory } from './shared/sold-out-memory.ts';

/** What a bucket borrows may be sold to others before this buyer asks again: not without an end. */
const borrowWithinMs = 1_000;

export function luaBuckets(redis: Redis, keys: SaleKeys, options: ScriptOptions = {}): Inventory {
  const soldOut = new SoldOutMemory(redis);
  const purchase = sellByScript(redis, options);
  const { waitForReplicas = 0 } = options;
  const replica = waitForReplicas > 0 ? new ReplicaAcknowledgement(waitForReplicas) : null;
  const transfers = new BucketTransfers(redis, keys, options.epoch ?? noEpoch);

  async function sell(order: Order, voucher: Voucher): Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const bucket = keys.bucketOf(order.voucherId, order.userId, voucher.buckets);
    if (soldOut.isTrueFor(order, bucket)) return refused('sold-out');
    const startedMs = performance.now();
    do {
      const sold = await purchase(bucket, order);
      if (!isSoldOut(sold)) return sold.outcome;
      const borrowed = await transfers.borrowFor(order, voucher.buckets);
      if (borrowed.word === 'empty') {
        const buckets = keys.bucketsOf(order.voucherId, voucher.buckets);
        const isSure = replica === null || (await replica.hasAllOf(redis, buckets));
        return isSure ? learn(voucher, bucket, sold, borrowed) : stockMoves;
      }
      if (borrowed.word === 'unsure') return stockMoves;
    } while (performance.now() - startedMs < borrowWithinMs);
    return stockMoves;
  }

  function learn(
    voucher: Voucher,
    bucket: ShardKeys,
    { outcome, answer, askedAtMs }: SaleAnswer,
    { soldOutBy, sinceMs }: BorrowResult & { readonly word: 'empty' },
  ): Outcome {
    const leftMs = (answer as readonly unknown[])[3];
    const proven = ['sold-out', '', soldOutBy, leftMs];
    soldOut.learn(voucher, bucket, proven, Math.min(askedAtMs, sinceMs));
    return outcome;
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepareBuckets(redis, keys, voucher),
    sell,
    remaining: async ({ id, buckets }) => (await stockOfBuckets(redis, keys, id, buckets)).stock,
  };
}

const isSoldOut = ({ outcome, answer }: SaleAnswer): boolean =>
  answer !== undefined && outcome.kind === 'refused' && outcome.reason === 'sold-out';

/** @throws VOUCHER_ID_TAKEN */
async function prepareBuckets(redis: Redis, keys: SaleKeys, voucher: Voucher): Promise<void> {
  const buckets = keys.bucketsOf(voucher.id, voucher.buckets);
  const parts = equalParts(voucher.stock, buckets.length);
  for (const [number, bucket] of buckets.entries())
    await prepareIn(redis, bucket, { ...voucher, stock: parts[number] ?? 0 });
}
