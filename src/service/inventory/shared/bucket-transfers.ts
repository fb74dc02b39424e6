/**
 * Transfers of stock between the buckets of a voucher, and the proof that all of them are empty.
 * Each step is a script that may run twice, and a transfer that another process left half-way is
 * finished by the next one that sees it (docs/design.md, "A hot voucher").
 */
import type { Redis } from 'ioredis';
import type { KnownEpoch } from '../../connections/known-epoch.ts';
import { pairsOf } from '../../connections/pairs.ts';
import type { BucketCount, SaleKeys, ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { type Order, soldOutKeptMs } from '../../domain.ts';
import { checkpoint } from '../../trace/checkpoints.ts';

const lend = loadScript('buckets/lend');
const put = loadScript('buckets/put');
const settle = loadScript('buckets/settle');

/** While stock moves, all buckets are read again; so often at most. */
const readingsMax = 6;

/**
 * What a user's bucket got. `empty`: every bucket was empty at one moment after `sinceMs`, and
 * `soldOutBy` names this state of the user's bucket; '' when it must not be remembered. `reopens`:
 * stock came back to one of them, and is not sold yet. `unsure`: stock moves, or a bucket did not
 * answer.
 */
export type BorrowResult =
  | { readonly word: 'found' | 'unsure' }
  | {
      readonly word: 'empty';
      readonly soldOutBy: string;
      readonly sinceMs: number;
      readonly reopens: boolean;
    };

interface Transfer {
  /** Numbers of buckets. */
  readonly from: number;
  readonly to: number;
  readonly number: string;
  readonly units: string;
}

interface SeenBucket {
  readonly word: 'empty' | 'reopening' | 'has-stock';
  /** Another one after each transfer, and after each sale that empties the bucket. */
  readonly state: string;
  readonly soldOutBy: string;
  readonly open: readonly Transfer[];
}

/** Redis lost the sale, or has other data. */
export class NotComparable extends Error {}

/** One voucher, during one search. */
interface Search {
  readonly voucherId: string;
  readonly buckets: readonly ShardKeys[];
  readonly epoch: string;
}

export class BucketTransfers {
  readonly #redis: Redis;
  readonly #keys: SaleKeys;
  readonly #epoch: Pick<KnownEpoch, 'value' | 'refresh'>;
  readonly #running = new Map<string, Promise<BorrowResult>>();

  constructor(redis: Redis, keys: SaleKeys, epoch: Pick<KnownEpoch, 'value' | 'refresh'>) {
    this.#redis = redis;
    this.#keys = keys;
    this.#epoch = epoch;
  }

  /** For the bucket of this user. All users of a bucket share one search. */
  borrowFor({ voucherId, userId }: Order, count: BucketCount): Promise<BorrowResult> {
    const own = this.#keys.bucketOf(voucherId, userId, count);
    const key = own.voucher(voucherId);
    const running = this.#running.get(key);
    if (running) return running;
    const search = this.#borrow(this.#search(voucherId, count), own)
      .catch((): BorrowResult => ({ word: 'unsure' }))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, search);
    return search;
  }

  /** Finishes every transfer that is half-way. @returns how many. */
  async finishAll(voucherId: string, count: BucketCount): Promise<number> {
    const search = this.#search(voucherId, count);
    let finished = 0;
    for (const bucket of search.buckets.keys()) {
      const { open } = await this.#look(search, bucket);
      for (const transfer of open) await this.#finish(search, transfer);
      finished += open.length;
    }
    return finished;
  }

  #search(voucherId: string, count: BucketCount): Search {
    const buckets = this.#keys.bucketsOf(voucherId, count);
    return { voucherId, buckets, epoch: this.#epoch.value };
  }

  async #borrow(search: Search, own: ShardKeys): Promise<BorrowResult> {
    const sinceMs = performance.now();
    const to = search.buckets.indexOf(own);
    let before = '';
    for (let readings = 1; readings <= readingsMax; readings++) {
      const seen = await this.#read(search, to);
      if (seen === 'found') return { word: 'found' };
      const state = seen === 'elsewhere' ? '' : JSON.stringify(seen.map((each) => each.state));
      const isProven = seen !== 'elsewhere' && state === before;
      // Stock that came back may be on sale again by now.
      if (performance.now() - sinceMs > soldOutKeptMs) break;
      if (isProven) return { word: 'empty', ...nameOf(seen), sinceMs };
      before = state;
    }
    return { word: 'unsure' };
  }

  /**
   * Asks the own bucket first, then each other one, also after one that did not answer: it does not
   * keep the others from lending. A bucket whose stock came back and is not sold yet borrows none:
   * what it borrowed could not be sold either.
   * @returns `elsewhere` when stock moves, or when another bucket has some.
   */
  async #read(search: Search, to: number): Promise<'found' | 'elsewhere' | readonly SeenBucket[]> {
    const count = search.buckets.length;
    const own = await this.#look(search, to);
    if (own.word === 'has-stock') return 'found';
    const isOnHold = own.word === 'reopening';
    const seen = [own];
    const errors: unknown[] = [];
    for (let step = 1; step < count; step++) {
      const from = (to + step) % count;
      const asked = isOnHold ? this.#look(search, from) : this.#lend(search, from, to);
      const found = await asked.catch((error: unknown) => void errors.push(error));
      if (found === 'lent') return 'found';
      if (found) seen.push(found);
    }
    if (errors.length > 0) throw errors[0];
    const open = seen.flatMap((each) => each.open);
    for (const transfer of open) await this.#finish(search, transfer);
    const isElsewhere = open.length > 0 || seen.some(({ word }) => word === 'has-stock');
    return isElsewhere ? 'elsewhere' : seen;
  }

  async #look(search: Search, bucket: number): Promise<SeenBucket> {
    return asSeen(bucket, await this.#ask(search, bucket, ''));
  }

  async #lend(search: Search, from: number, to: number): Promise<SeenBucket | 'lent'> {
    const answer = await this.#ask(search, from, String(to));
    const [word, number = '', units = ''] = answer;
    if (word !== 'lent') return asSeen(from, answer);
    await this.#finish(search, { from, to, number, units });
    return word;
  }

  async #ask({ voucherId, buckets, epoch }: Search, bucket: number, to: string): Promise<string[]> {
    const { voucher, transfers, epoch: epochKey } = buckets[bucket] as ShardKeys;
    const keys = [voucher(voucherId), transfers(voucherId), epochKey];
    const answer = (await runScript(this.#redis, lend, keys, [to, epoch])) as string[];
    this.#assertComparable(answer[0]);
    return answer;
  }

  /** Puts the units into the borrower, then closes the transfer in the lender. */
  async #finish({ voucherId, buckets, epoch }: Search, transfer: Transfer): Promise<void> {
    const { from, to, number, units } = transfer;
    await checkpoint('lent');
    const [lender, borrower] = [buckets[from], buckets[to]] as [ShardKeys, ShardKeys | undefined];
    if (!borrower) throw new NotComparable(); // Of another number of buckets.
    const { voucher, transfers, epoch: epochKey } = borrower;
    const keys = [voucher(voucherId), transfers(voucherId), epochKey];
    const answer = await runScript(this.#redis, put, keys, [String(from), number, units, epoch]);
    this.#assertComparable(answer);
    await checkpoint('put');
    const note = [lender.transfers(voucherId), lender.epoch];
    await runScript(this.#redis, settle, note, [String(to), number, epoch]);
  }

  #assertComparable(word: unknown): void {
    if (word === 'other-epoch') this.#epoch.refresh();
    if (word === 'other-epoch' || word === 'unknown-voucher') throw new NotComparable();
  }
}

function asSeen(from: number, [word, state = '', soldOutBy = '', ...rest]: string[]): SeenBucket {
  const open = pairsOf(rest).map(([to, transfer]): Transfer => {
    const [number = '', units = ''] = transfer.split(':');
    return { from, to: Number(to), number, units };
  });
  return { word: word as SeenBucket['word'], state, soldOutBy, open };
}

/** Of the own bucket, the first one. Stock that is about to be sold again must not be forgotten. */
function nameOf(seen: readonly SeenBucket[]): {
  readonly soldOutBy: string;
  readonly reopens: boolean;
} {
  const reopens = seen.some(({ word }) => word === 'reopening');
  return { reopens, soldOutBy: reopens ? '' : (seen[0]?.soldOutBy ?? '') };
}
