/**
 * A change of the stock of a voucher whose stock is split: units move between its buckets, so
 * nobody can count them while it sells. Every bucket is held first: for some milliseconds it sells
 * and lends nothing. A hold ends by itself, so a process that dies or stands still stops no sale.
 * What it does later is refused, since each step needs its hold. The next process begins again: it
 * counts what was changed before, so that nothing is changed twice.
 */

import { randomUUID } from 'node:crypto';
import type { Connections } from '../connections/connections.ts';
import { oneEpoch } from '../connections/known-epoch.ts';
import type { BucketCount, ShardKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { reopensAfterMs } from '../domain.ts';
import { isServiceError, serviceError } from '../errors.ts';
import { equalParts } from '../inventory/shared/bucket-stock.ts';
import { BucketTransfers, NotComparable } from '../inventory/shared/bucket-transfers.ts';
import { checkpoint } from '../trace/checkpoints.ts';

const holdBucket = loadScript('buckets/hold');
const adjustBucket = loadScript('buckets/adjust');

/** Much longer than a change takes. */
const holdMs = 3_000;

/** A voucher, and the epoch in which it is changed. */
export interface VoucherInEpoch {
  readonly connections: Connections;
  readonly epoch: string;
  readonly voucherId: string;
}

interface SplitVoucher extends VoucherInEpoch {
  readonly buckets: BucketCount;
}

export interface BucketStockChange extends SplitVoucher {
  /** Its number, when it was begun, and the number of the last one that MySQL has settled. */
  readonly change: { readonly number: string; readonly begunMs: string; readonly before: string };
  /** With the units that are sold. */
  readonly stock: number;
  readonly stockBefore: number;
}

/** `hold` is the name under which this process holds the buckets. */
interface HeldChange extends BucketStockChange {
  readonly hold: string;
}

interface HeldBucket {
  readonly stock: number;
  readonly sold: number;
  /** How many were sold when this change was refused; null when it was not. */
  readonly refused: number | null;
}

/**
 * `hold`: the stock is changed, and the buckets are still held; the script of the change needs the
 * hold, and ends it. `sold`: how many are sold, when that is more than the new stock; the buckets
 * keep the old stock, and sell on. A bucket remembers that, so that a process that finishes the
 * change decides the same. `sold` is null when a bucket has a later change: nothing was changed.
 */
export type BucketStockResult =
  | { readonly hold: string; readonly sold?: undefined }
  | { readonly sold: number | null };

/** @throws DATA_CHANGED, HOLD_LOST, REDIS_LOST_SALE */
export async function changeBucketStock(wanted: BucketStockChange): Promise<BucketStockResult> {
  const asked = { ...wanted, hold: randomUUID() };
  try {
    return await changeHeld(asked);
  } catch (error) {
    await releaseAll(asked);
    throw error;
  }
}

/** Or the holds end by themselves. */
async function releaseAll(asked: HeldChange): Promise<void> {
  const release = (place: ShardKeys) => adjust(asked, place, { units: 0, isLast: true });
  await Promise.allSettled(placesOf(asked).map(release));
}

async function later(asked: HeldChange): Promise<BucketStockResult> {
  await releaseAll(asked);
  return { sold: null };
}

async function changeHeld(asked: HeldChange): Promise<BucketStockResult> {
  if (!(await askAll(asked, String(holdMs)))) return later(asked);
  await finishTransfers(asked); // Afterwards, no units are on their way.
  const held = await askAll(asked, '');
  if (!held) return later(asked);
  const sold = sum(held.map((bucket) => bucket.sold));
  const left = sum(held.map((bucket) => bucket.stock));
  const earlier = held.find(({ refused }) => refused !== null)?.refused ?? null;
  const refused = earlier ?? (asked.stock < sold ? sold : null);
  const wanted = refused === null ? asked.stock : asked.stockBefore;
  const parts = partsOf(wanted - sold - left, held);
  await adjustAll(asked, parts, { isLast: refused !== null, refused });
  return refused === null ? { hold: asked.hold } : { sold: refused };
}

/**
 * Sets the stock to what MySQL has, while all buckets are held. A stock below what is sold is 0.
 * @returns false when no bucket was changed, also because an operator changes them too.
 * @throws DATA_CHANGED, REDIS_LOST_SALE
 */
export async function correctBucketStock(
  wanted: BucketStockChange,
  mayRaise: boolean,
): Promise<boolean> {
  const asked = { ...wanted, hold: randomUUID() };
  try {
    if (!(await askAll(asked, String(holdMs)))) return false;
    await finishTransfers(asked);
    const held = (await askAll(asked, '')) ?? [];
    const more = asked.stock - sum(held.map(({ stock, sold }) => stock + sold));
    const parts = partsOf(more < 0 || mayRaise ? more : 0, held);
    await adjustAll(asked, parts, { isLast: true, refused: null });
    return parts.some((units) => units !== 0);
  } catch (error) {
    if (isServiceError(error, 'HOLD_LOST')) return false; // An operator changes the stock: it is seen again.
    throw error;
  } finally {
    await releaseAll(asked);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const placesOf = ({ connections, voucherId, buckets }: SplitVoucher) =>
  connections.saleKeys.bucketsOf(voucherId, buckets);

/**
 * For each bucket: what it has, until enough is taken; or an equal part of what is added. A bucket
 * that is empty gets none unless all are: it would not sell it at once.
 */
function partsOf(more: number, held: readonly HeldBucket[]): number[] {
  if (more >= 0) {
    const isSoldOut = held.every(({ stock }) => stock === 0);
    const getsSome = ({ stock }: HeldBucket) => isSoldOut || stock > 0;
    const parts = equalParts(more, held.filter(getsSome).length);
    return held.map((bucket) => (getsSome(bucket) ? (parts.shift() ?? 0) : 0));
  }
  let missing = -more;
  return held.map(({ stock }) => {
    const taken = Math.min(stock, missing);
    missing -= taken;
    return -taken;
  });
}

/**
 * Holds all buckets for `forMs`, or checks whether they are held.
 * @returns null when a later change is applied.
 */
async function askAll(asked: HeldChange, forMs: string): Promise<HeldBucket[] | null> {
  const { connections, epoch, voucherId, change, hold } = asked;
  const { number, begunMs, before } = change;
  const held: HeldBucket[] = [];
  for (const place of placesOf(asked)) {
    const keys = [place.voucher(voucherId), place.buyers(voucherId), place.epoch];
    const args = [epoch, number, begunMs, before, hold, forMs];
    const answer = await runScript(connections.redis('admin'), holdBucket, keys, args);
    const [word, stock, sold, refused] = answer as [string, string, string, string];
    if (word === 'later-change') return null;
    if (word !== 'held') throw changeProblem(word, asked);
    const wasRefused = refused === '' ? null : Number(refused);
    held.push({ stock: Number(stock), sold: Number(sold), refused: wasRefused });
  }
  return held;
}

/** Why a script has changed nothing. */
export function changeProblem(word: unknown, { epoch, voucherId }: VoucherInEpoch): Error {
  if (word === 'not-held') return serviceError('HOLD_LOST', voucherId);
  return word === 'unknown-voucher'
    ? serviceError('REDIS_LOST_SALE', voucherId)
    : serviceError('DATA_CHANGED', epoch);
}

/**
 * Those that were begun before, also by a process that has ended.
 * @returns how many. @throws DATA_CHANGED
 */
export function finishTransfers(voucher: SplitVoucher): Promise<number> {
  const { connections, epoch, voucherId, buckets } = voucher;
  const { saleKeys } = connections;
  const transfers = new BucketTransfers(connections.redis('admin'), saleKeys, oneEpoch(epoch));
  return transfers.finishAll(voucherId, buckets).catch((error: unknown) => {
    throw error instanceof NotComparable ? serviceError('DATA_CHANGED', epoch) : error;
  });
}

interface Adjustment {
  readonly units: number;
  /** It ends the hold. */
  readonly isLast: boolean;
  readonly refused?: number | null;
}

async function adjustAll(
  asked: HeldChange,
  parts: readonly number[],
  rest: Omit<Adjustment, 'units'>,
): Promise<void> {
  for (const [index, place] of placesOf(asked).entries()) {
    await adjust(asked, place, { ...rest, units: parts[index] ?? 0 });
    await checkpoint('bucket-adjusted');
  }
}

async function adjust(
  asked: HeldChange,
  place: ShardKeys,
  { units, isLast, refused = null }: Adjustment,
): Promise<void> {
  const { connections, epoch, voucherId, change, hold } = asked;
  const keys = [place.voucher(voucherId), place.epoch];
  const args = [epoch, hold, String(units), String(reopensAfterMs), isLast ? '1' : ''];
  const decision = [String(refused ?? ''), change.number, change.begunMs];
  const redis = connections.redis('admin');
  const answer = await runScript(redis, adjustBucket, keys, [...args, ...decision]);
  if (answer !== 'adjusted') throw changeProblem(answer, asked);
}
