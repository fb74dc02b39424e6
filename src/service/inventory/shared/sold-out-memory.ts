/**
 * Answers "sold out" without Redis, and only where Redis would answer the same at that moment:
 *
 * - Stock comes back when an order is dead-lettered or an operator adds some. The script keeps the
 *   voucher sold out for `reopensAfterMs`. An answer of Redis is remembered for `soldOutKeptMs`,
 *   which is shorter, and counts from before the question. So it ends before the sale reopens, also
 *   in a process that stood still. No message is needed, and none can be lost.
 * - A buyer is answered by Redis: `already-ordered`, or the order when it is the same request.
 *   While a voucher is sold out nobody becomes a buyer, so its buyers are read once, into a filter
 *   that now and then takes a user for a buyer, and never a buyer for another user. A
 *   repair that restores a buyer gives that state another name; until `soldOutKeptMs` after it, the
 *   restored buyer may still be told "sold out".
 * - The order that took the last one names that state, also after a failover: a server that has
 *   this order has every sale before it.
 * - It lasts no longer than the sale, nor than the connection that it came from.
 *
 * It trusts that no clock stands still or jumps by a second while the other one goes on.
 */
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { hashParts } from '../../connections/read-sale.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { type Order, soldOutKeptMs, type Voucher } from '../../domain.ts';

/** Of all filters: enough for one sale of ten million, the most that a voucher may have. */
const bytesMax = 32 * 1_024 * 1_024;
/** Redis does nothing else while it reads this many. */
const buyersPerRead = 500;
/** Of what is remembered beside the filter. */
const entryBytes = 200;

/** Of the purchase script. */
type Answer = [word: string, orderId: string, soldOutBy: string, leftMs: number];

interface SoldOut {
  readonly soldOutBy: string;
  /** Undefined until they are read. */
  buyers?: BloomFilter;
  untilMs: number;
  /** From then on, one request asks Redis again, and the others need not wait for it. */
  askMs: number;
}

export class SoldOutMemory {
  readonly #redis: Redis;
  /** By the key of the voucher in its shard, or in one of its buckets. */
  readonly #known = new LRUCache<string, SoldOut>({ maxSize: bytesMax });

  constructor(redis: Redis) {
    this.#redis = redis;
    redis.on('close', () => this.#known.clear());
  }

  isTrueFor({ voucherId, userId }: Order, { voucher }: ShardKeys): boolean {
    const known = this.#known.get(voucher(voucherId));
    if (!known?.buyers || known.buyers.mayHave(userId)) return false;
    const nowMs = performance.now();
    if (nowMs < known.askMs) return true;
    known.askMs = known.untilMs; // This request asks.
    return false;
  }

  /**
   * @param shard of the user who was answered; the bucket, where all the buckets are empty
   * @param askedAtMs before the question was sent
   */
  learn(
    { id, stock, buckets = 1 }: Voucher,
    shard: ShardKeys,
    answer: unknown,
    askedAtMs: number,
  ): void {
    const [word, , soldOutBy, leftMs] = (answer ?? []) as Partial<Answer>;
    if (word !== 'sold-out' || !soldOutBy || leftMs === undefined) return;
    const key = shard.voucher(id);
    const known = this.#known.get(key);
    const begin = () => this.#begin(key, shard.buyers(id), Math.ceil(stock / buckets), soldOutBy);
    const soldOut = known?.soldOutBy === soldOutBy ? known : begin();
    if (!soldOut) return;
    const keptMs = Math.min(soldOutKeptMs, leftMs - 1); // Redis rounds its clock down.
    soldOut.untilMs = Math.max(soldOut.untilMs, askedAtMs + keptMs);
    soldOut.askMs = soldOut.untilMs - keptMs / 2;
  }

  /** @param count of the buyers, about */
  #begin(key: string, buyersKey: string, count: number, soldOutBy: string): SoldOut | undefined {
    this.#known.delete(key);
    const size = entryBytes + BloomFilter.bytesFor(count);
    if (!this.#makeRoom(size)) return undefined;
    const soldOut: SoldOut = { soldOutBy, untilMs: 0, askMs: 0 };
    this.#known.set(key, soldOut, { size });
    this.#read(buyersKey, count).then(
      (buyers) => {
        soldOut.buyers = buyers;
      },
      () => this.#known.delete(key), // The next answer begins again.
    );
    return soldOut;
  }

  /** HSCAN finds every buyer who was there before it began, and nobody leaves meanwhile. */
  async #read(buyersKey: string, count: number): Promise<BloomFilter> {
    const buyers = new BloomFilter(count);
    for await (const words of hashParts(this.#redis, buyersKey, buyersPerRead))
      for (let at = 0; at < words.length; at += 2) buyers.add(words[at] ?? '');
    return buyers;
  }

  /**
   * Forgets what is over. It forgets nothing that is still true: that voucher would push out the
   * next one, and each time its buyers would be read again.
   */
  #makeRoom(size: number): boolean {
    const known = this.#known;
    const hasRoom = () => known.calculatedSize + size <= bytesMax;
    if (hasRoom()) return true;
    const nowMs = performance.now();
    for (const key of [...known.keys()])
      if ((known.peek(key)?.untilMs ?? 0) <= nowMs) known.delete(key);
    return hasRoom();
  }
}

const bitsPerText = 16;
const placesPerText = 8;
/** In a smaller filter the places of a text would be the same too often. */
const textsMin = 64;

/**
 * A set of texts that never forgets one, and takes about one in 2,000 others for its own. It needs
 * two bytes for each text, however long it is.
 * Source. B. H. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970; two hashes
 *   for all places: Kirsch and Mitzenmacher, Less hashing, same performance, 2006.
 */
export class BloomFilter {
  readonly #bits: number;
  readonly #bytes: Uint8Array;

  /** @param count of the texts that it has room for; with more of them it errs more often. */
  constructor(count: number) {
    const size = BloomFilter.bytesFor(count);
    this.#bits = size * 8;
    this.#bytes = new Uint8Array(size);
  }

  static bytesFor(count: number): number {
    return Math.ceil((Math.max(textsMin, count) * bitsPerText) / 8);
  }

  add(text: string): void {
    const [first, step] = [hash(text, firstSeed), stepOf(text)];
    for (let index = 0; index < placesPerText; index++) {
      const place = this.#place(first + index * step);
      const byte = place >>> 3;
      this.#bytes[byte] = (this.#bytes[byte] ?? 0) | (1 << (place & 7));
    }
  }

  /** Each refusal of a voucher that is sold out asks it, so it makes no list of the places. */
  mayHave(text: string): boolean {
    const [first, step] = [hash(text, firstSeed), stepOf(text)];
    for (let index = 0; index < placesPerText; index++) {
      const place = this.#place(first + index * step);
      if (((this.#bytes[place >>> 3] ?? 0) & (1 << (place & 7))) === 0) return false;
    }
    return true;
  }

  #place(sum: number): number {
    return (sum >>> 0) % this.#bits;
  }
}

const firstSeed = 0x811c9dc5;
/** Odd, so that the places of a text differ. */
const stepOf = (text: string): number => hash(text, 0x9e3779b9) | 1;

/** FNV-1a, and a last mix, so that the short numbers of users differ in every bit. */
function hash(text: string, seed: number): number {
  let value = seed;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return value ^ (value >>> 13);
}
