/**
 * The keys of the final rung and of the queue rungs. A voucher belongs to one shard, and all keys
 * of a shard carry the hash tag {sale:<shard>}: one script may touch them together on Redis
 * Cluster, and shards spread over its masters.
 */
export interface ShardKeys {
  /** HASH stock, beginMs, endMs */
  voucher(voucherId: string): string;
  /**
   * HASH user id → `order id:request id`. The one-order check and the idempotency record in one.
   */
  buyers(voucherId: string): string;
  /** STREAM of orders to record in MySQL. */
  readonly orders: string;
  /** HASH order id → `voucher id:user id`, for as long as the order is in the stream. */
  readonly queued: string;
  /** STRING: the epoch of the data, which MySQL has too. */
  readonly epoch: string;
  /** STREAM of orders that could not be recorded, with the reason. */
  readonly dead: string;
  /** HASH entry id of a dead letter → the order that replaced its order. */
  readonly replayed: string;
  /** What a queue of chapter 5 keeps for itself: a list, a stream, a channel. */
  queue(name: string): string;
}

export interface SaleKeys {
  /** In the order of their numbers. */
  readonly shards: readonly ShardKeys[];
  /** The keys of the voucher's shard. */
  of(voucherId: string): ShardKeys;
}

/**
 * The number of shards must not change while vouchers are on sale: they would look for their keys
 * in another shard.
 */
export function saleKeys(shardCount: number): SaleKeys {
  const shards = Array.from({ length: shardCount }, (_, shard) => shardKeys(`{sale:${shard}}`));
  return { shards, of: (voucherId) => shards[remainder(voucherId, shardCount)] as ShardKeys };
}

const shardKeys = (tag: string): ShardKeys => ({
  voucher: (voucherId) => `${tag}:voucher:${voucherId}`,
  buyers: (voucherId) => `${tag}:buyers:${voucherId}`,
  orders: `${tag}:orders`,
  queued: `${tag}:queued`,
  epoch: `${tag}:epoch`,
  dead: `${tag}:dead`,
  replayed: `${tag}:replayed`,
  queue: (name) => `${tag}:queue:${name}`,
});

/** Digit by digit, since an id does not fit in a number. */
function remainder(id: string, divisor: number): number {
  let rest = 0;
  for (const digit of id) rest = (rest * 10 + Number(digit)) % divisor;
  return rest;
}

export const orderGroup = 'recorders';
