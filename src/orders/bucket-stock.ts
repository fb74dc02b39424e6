/**
 * A change of the stock of a voucher whose stock is split: units move between its buckets, so
 * nobody can count them while it sells. Every bucket is held first: for some milliseconds it sells
 * and lends nothing. A process that dies leaves a hold, and the next one that finishes the change
 * begins again: what was changed before is counted, and not changed twice.
 */
import { randomUUID } from 'node:crypto';
import type { Connections } from '../connections/connections.ts';
import { oneEpoch } from '../connections/known-epoch.ts';
import type { BucketCount, ShardKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { reopensAfterMs } from '../domain.ts';
import { DataChanged, RedisLostSale } from '../errors.ts';
import { equalParts } from '../inventory/shared/bucket-stock.ts';
import { BucketTransfers, NotComparable } from '../inventory/shared/bucket-transfers.ts';

const holdBucket = loadScript('buckets/hold');
const adjustBucket = loadScript('buckets/adjust');

export interface BucketStockChange {
  readonly connections: Connections;
  readonly epoch: string;
  readonly voucherId: string;
  readonly buckets: BucketCount;
  /** Of the change. */
  readonly number: number;
  /** With the units that are sold. */
  readonly stock: number;
  /** Whether the sale is paused as long as the change is not applied. */
  readonly wasPaused: boolean;
}

/** What a bucket that is held has. */
interface Held {
  readonly stock: number;
  readonly sold: number;
}

/**
 * The buckets stay held when it is changed: the script of the change ends the hold.
 * @returns how many are sold, when these are more than the new stock: then nothing is changed.
 * @throws DataChanged, RedisLostSale
 */
export async function changeBucketStock(asked: BucketStockChange): Promise<number | undefined> {
  const hold = `hold:${asked.number}:${randomUUID()}`;
  if (!(await holdAll(asked, hold))) return undefined; // A later change is applied.
  await finishTransfers(asked);
  const held = await holdAll(asked, hold);
  if (!held) return undefined;
  const sold = sum(held.map((bucket) => bucket.sold));
  const left = sum(held.map((bucket) => bucket.stock));
  const isRefused = asked.stock < sold;
  const units = isRefused ? [] : partsOf(asked.stock - sold - left, held);
  for (const [index, place] of placesOf(asked).entries())
    await adjust(asked, place, hold, units[index] ?? 0, isRefused);
  return isRefused ? sold : undefined;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const placesOf = ({ connections, voucherId, buckets }: BucketStockChange) =>
  connections.saleKeys.bucketsOf(voucherId, buckets);

/** For each bucket: an equal part of what is added; or what it has, until enough is taken. */
function partsOf(more: number, held: readonly Held[]): number[] {
  if (more >= 0) return equalParts(more, held.length);
  let missing = -more;
  return held.map(({ stock }) => {
    const taken = Math.min(stock, missing);
    missing -= taken;
    return -taken;
  });
}

/** @returns null when a later change is applied. */
async function holdAll(asked: BucketStockChange, hold: string): Promise<Held[] | null> {
  const { connections, epoch, voucherId, number } = asked;
  const held: Held[] = [];
  for (const place of placesOf(asked)) {
    const keys = [place.voucher(voucherId), place.buyers(voucherId), place.epoch];
    const args = [epoch, String(number), hold];
    const answer = await runScript(connections.redis('admin'), holdBucket, keys, args);
    const [word, stock, sold] = answer as [string, string, string];
    if (word === 'later-change') return null;
    if (word === 'unknown-voucher') throw new RedisLostSale(voucherId);
    if (word !== 'held') throw new DataChanged(epoch);
    held.push({ stock: Number(stock), sold: Number(sold) });
  }
  return held;
}

/** Those that were begun before the hold: afterwards, no units are on their way. */
async function finishTransfers({ connections, epoch, voucherId, buckets }: BucketStockChange) {
  const { saleKeys } = connections;
  const transfers = new BucketTransfers(connections.redis('admin'), saleKeys, oneEpoch(epoch));
  await transfers.finishAll(voucherId, buckets).catch((error: unknown) => {
    throw error instanceof NotComparable ? new DataChanged(epoch) : error;
  });
}

async function adjust(
  { connections, epoch, voucherId, wasPaused }: BucketStockChange,
  place: ShardKeys,
  hold: string,
  units: number,
  isRefused: boolean,
): Promise<void> {
  const keys = [place.voucher(voucherId), place.epoch];
  const next = isRefused ? (wasPaused ? '1' : '') : hold;
  const args = [epoch, hold, String(units), String(reopensAfterMs), next];
  const answer = await runScript(connections.redis('admin'), adjustBucket, keys, args);
  if (answer !== 'adjusted') throw new DataChanged(epoch); // Or another process holds it now.
}
