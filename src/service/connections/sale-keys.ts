/**
 * The keys of the final rung and of the queue rungs. A voucher belongs to one shard, and all keys
 * of a shard carry the hash tag {sale:<shard>}: one script may touch them together on Redis
 * Cluster, and shards spread over its masters.
 */
export interface ShardKeys {
  /** HASH stock, beginMs, endMs, paused, change, soldOutBy, reopensMs: see lua/sale/. */
  voucher(voucherId: string): string;
  /**
   * HASH user id → `order id:request id`. The one-order check and the idempotency record in one.
   */
  buyers(voucherId: string): string;
  /** HASH of the transfers between the buckets of a voucher. Only a bucket has one. */
  transfers(voucherId: string): string;
  /** STRING: the voucher as MySQL has it, for a process that starts without MySQL. It expires. */
  about(voucherId: string): string;
  /** The waiting room. HASH of its line, HASH user id → place, ZSET of passes. They expire. */
  room(voucherId: string): string;
  places(voucherId: string): string;
  passes(voucherId: string): string;
  /** These three, in this order. */
  waiting(voucherId: string): string[];
  /** STREAM of orders to record in MySQL. */
  readonly orders: string;
  /** HASH order id → `voucher id:user id`, for as long as the order is in the stream. */
  readonly queued: string;
  /** STRING: the epoch of the data, which MySQL has too. */
  readonly epoch: string;
  /** STRING: the number of shards. Only the first shard has it. */
  readonly shardCount: string;
  /** STREAM of orders that could not be recorded, with the reason. */
  readonly dead: string;
  /** HASH order id → how often MySQL refused its row, until the order is settled. */
  readonly refusals: string;
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
  /**
   * The buckets of a voucher whose stock is split: each is a shard in which this voucher has a
   * stock, buyers and transfers of its own.
   */
  bucketsOf(voucherId: string, count: BucketCount): readonly ShardKeys[];
  /** The bucket that sells to this user: always the same one. */
  bucketOf(voucherId: string, userId: string, count: BucketCount): ShardKeys;
}

/** As the voucher declares it. Without a number it is as the process is configured. */
export type BucketCount = number | null | undefined;

/**
 * The number of shards must not change while vouchers are on sale: they would look for their keys
 * in another shard. See epoch.ts.
 * @param prefix of every key, without braces
 */
export function saleKeys(shardCount: number, defaultBuckets = 1, prefix = ''): SaleKeys {
  const shards = Array.from({ length: shardCount }, (_, shard) =>
    shardKeys(`${prefix}{sale:${shard}}`),
  );
  const known = new Map<number, readonly (readonly ShardKeys[])[]>();
  const shardOf = (voucherId: string) => remainder(voucherId, shardCount);
  const bucketsOf: SaleKeys['bucketsOf'] = (voucherId, declared) => {
    const count = declared ?? defaultBuckets;
    if (!known.has(count))
      known.set(
        count,
        shards.map((_, home) => bucketsFrom(shards, home, count)),
      );
    return known.get(count)?.[shardOf(voucherId)] as readonly ShardKeys[];
  };
  return {
    shards,
    of: (voucherId) => shards[shardOf(voucherId)] as ShardKeys,
    bucketsOf,
    bucketOf: (voucherId, userId, count) => {
      const buckets = bucketsOf(voucherId, count);
      return buckets[bucketNumber(userId, buckets.length)] as ShardKeys;
    },
  };
}

/** Where the stock of a voucher is: in its shard, or in its buckets. */
export const stockPlaces = (
  keys: SaleKeys,
  voucherId: string,
  { buckets: isSplit }: { readonly buckets?: true },
  count: BucketCount,
): readonly ShardKeys[] => (isSplit ? keys.bucketsOf(voucherId, count) : [keys.of(voucherId)]);

/** The first one in the shard of the voucher, the others in the shards after it. */
function bucketsFrom(shards: readonly ShardKeys[], home: number, count: number): ShardKeys[] {
  return Array.from({ length: count }, (_, number) => {
    const shard = shards[(home + number) % shards.length] as ShardKeys;
    const named = (voucherId: string) => `${voucherId}:${number}`;
    return {
      ...shard,
      voucher: (voucherId) => shard.voucher(named(voucherId)),
      buyers: (voucherId) => shard.buyers(named(voucherId)),
      transfers: (voucherId) => shard.transfers(named(voucherId)),
    };
  });
}

function shardKeys(tag: string): ShardKeys {
  const ofVoucher = (name: string) => (voucherId: string) => `${tag}:${name}:${voucherId}`;
  const [room, places, passes] = [ofVoucher('room'), ofVoucher('places'), ofVoucher('passes')];
  return {
    voucher: ofVoucher('voucher'),
    buyers: ofVoucher('buyers'),
    transfers: ofVoucher('transfers'),
    about: ofVoucher('about'),
    room,
    places,
    passes,
    waiting: (voucherId) => [room(voucherId), places(voucherId), passes(voucherId)],
    orders: `${tag}:orders`,
    queued: `${tag}:queued`,
    epoch: `${tag}:epoch`,
    shardCount: `${tag}:shards`,
    dead: `${tag}:dead`,
    refusals: `${tag}:refusals`,
    replayed: `${tag}:replayed`,
    queue: (name) => `${tag}:queue:${name}`,
  };
}

/** Digit by digit, since an id does not fit in a number. */
function remainder(id: string, divisor: number): number {
  let rest = 0;
  for (const digit of id) rest = (rest * 10 + Number(digit)) % divisor;
  return rest;
}

/**
 * FNV-1a, and then the last step of MurmurHash3: ids in a row, and ids that are all multiples of
 * some number, are spread evenly too.
 */
function bucketNumber(userId: string, count: number): number {
  let hash = 0x811c9dc5;
  for (const digit of userId) hash = Math.imul(hash ^ digit.charCodeAt(0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}

export const orderGroup = 'recorders';
