/**
 * Deletes the keys of sales that ended long ago from Redis. MySQL keeps their vouchers and orders,
 * and a purchase is still answered `ended`. A sale with an order that waits to be recorded stays.
 */

import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { epochsOf } from '../connections/epoch.ts';
import { type Pool, type RowDataPacket, select } from '../connections/mysql.ts';
import { scanHash } from '../connections/read-sale.ts';
import { type BucketCount, type ShardKeys, stockPlaces } from '../connections/sale-keys.ts';
import { serviceError } from '../errors.ts';
import { finalRungs, rungNamed } from '../ladder/rungs.ts';
import type { OperationResult } from '../operate/operate.ts';
import { type OperateSentences, operateSentences } from '../operate/sentences.ts';
import { wholeNumber } from '../operate/words.ts';

export const endedDays = wholeNumber(0, 9_999);

const pageSize = 1_000;
const dayMs = 86_400_000;

/** The ids of vouchers. */
export interface EndedSales {
  /** Their keys were deleted. */
  readonly removed: readonly string[];
  /** An order waits in their shard since before their end, or MySQL has not as many as Redis. */
  readonly waiting: readonly string[];
}

interface EndedVoucher extends RowDataPacket {
  readonly id: string;
  readonly rung: string;
  readonly buckets: BucketCount;
  readonly endTime: Date;
}

/**
 * Removes the keys of sales that ended at least `days` ago.
 * @throws REBUILD_UNFINISHED, EPOCHS_DIFFER, SALE_SHARDS_DIFFER: nothing of Redis may be deleted.
 */
export async function removeEndedSales(
  connections: Connections,
  days: number,
): Promise<EndedSales> {
  const { ofMysql, ofRedis, isRebuilding } = await epochsOf(connections);
  if (isRebuilding || ofRedis !== ofMysql) throw serviceError('REBUILD_UNFINISHED');
  const endedBefore = new Date(Date.now() - days * dayMs);
  const isNoted = notesOf(connections.redis('admin'));
  const ended = { removed: [] as string[], waiting: [] as string[] };
  let page: readonly EndedVoucher[];
  let after = '0';
  do {
    page = await endedVouchers(connections.mysql(), endedBefore, after);
    for (const sale of await present(connections, page))
      ended[await removeSale(connections, isNoted, sale)].push(sale.id);
    after = page.at(-1)?.id ?? after;
  } while (page.length === pageSize);
  return ended;
}

export function endedSalesText(
  { removed, waiting }: EndedSales,
  say: OperateSentences = operateSentences,
): string {
  const lines = [say.endedRemoved(removed.length) + say.ids(removed)];
  if (waiting.length > 0) lines.push(say.endedKept(waiting.length) + say.ids(waiting));
  return lines.join('\n');
}

/** Of the operators' command. Its exit code is 1 when some sales were kept. */
export async function runEndedSales(
  connections: Connections,
  days: number,
  say: OperateSentences = operateSentences,
): Promise<OperationResult> {
  const ended = await removeEndedSales(connections, days);
  const exitCode = ended.waiting.length > 0 ? 1 : 0;
  return { data: ended, text: endedSalesText(ended, say), exitCode };
}

async function endedVouchers(
  pool: Pool,
  endedBefore: Date,
  after: string,
): Promise<EndedVoucher[]> {
  const [rows] = await pool.query<EndedVoucher[]>(
    `SELECT CAST(v.id AS CHAR) AS id, v.rung, b.buckets, v.end_time AS endTime
     FROM vouchers v LEFT JOIN voucher_buckets b ON b.voucher_id = v.id
     WHERE v.rung IN (?) AND v.end_time <= ? AND v.id > ? ORDER BY v.id LIMIT ${pageSize}`,
    [finalRungs, endedBefore, after],
  );
  return rows;
}

interface PresentSale {
  readonly id: string;
  readonly endMs: number;
  readonly places: readonly ShardKeys[];
}

const keysOf = (place: ShardKeys, id: string): string[] => [
  place.voucher(id),
  place.buyers(id),
  place.transfers(id),
  ...place.waiting(id),
];

/** Those of which Redis has a key. */
async function present(
  connections: Connections,
  page: readonly EndedVoucher[],
): Promise<PresentSale[]> {
  const redis = connections.redis('admin');
  const found = page.map(async ({ id, rung, buckets, endTime }) => {
    const places = stockPlaces(connections.saleKeys, id, rungNamed(rung), buckets);
    const counts = await Promise.all(places.map((place) => redis.exists(keysOf(place, id))));
    const isPresent = counts.some((count) => count > 0);
    return isPresent ? [{ id, endMs: endTime.getTime(), places }] : [];
  });
  return (await Promise.all(found)).flat();
}

async function removeSale(
  connections: Connections,
  isNoted: ReturnType<typeof notesOf>,
  { id, endMs, places }: PresentSale,
): Promise<'removed' | 'waiting'> {
  const redis = connections.redis('admin');
  for (const place of places) {
    const isQueued = (await hasOlderEntry(redis, place, endMs)) || (await isNoted(place, id));
    if (isQueued) return 'waiting';
  }
  if (!(await areRecorded(connections, id, places))) return 'waiting';
  for (const place of places) await redis.unlink(keysOf(place, id));
  return 'removed';
}

/**
 * The orders of a sale were added to the stream before its end. One that was given an entry of its
 * own since then has a note.
 */
async function hasOlderEntry(redis: Redis, { orders }: ShardKeys, endMs: number): Promise<boolean> {
  const [oldest] = await redis.xrange(orders, '-', '+', 'COUNT', 1);
  return oldest !== undefined && Number(oldest[0].split('-')[0]) <= endMs;
}

/**
 * Whether a queued order of a voucher is noted; a replayed order is noted too. The notes of each
 * shard are read once.
 */
function notesOf(redis: Redis) {
  const vouchers = new Map<string, Promise<ReadonlySet<string>>>();
  const read = async (queued: string): Promise<ReadonlySet<string>> => {
    const notes = await scanHash(redis, queued);
    return new Set(notes.map(([, note]) => note.split(':')[0] ?? ''));
  };
  return async ({ queued }: ShardKeys, voucherId: string): Promise<boolean> => {
    const noted = vouchers.get(queued) ?? read(queued);
    vouchers.set(queued, noted);
    return (await noted).has(voucherId);
  };
}

/** Every buyer has an order in MySQL: otherwise Redis may have the only copy of one. */
async function areRecorded(
  connections: Connections,
  voucherId: string,
  places: readonly ShardKeys[],
): Promise<boolean> {
  const redis = connections.redis('admin');
  const counts = await Promise.all(places.map(({ buyers }) => redis.hlen(buyers(voucherId))));
  const buyers = counts.reduce((sum, count) => sum + count, 0);
  const [row] = await select<{ orders: number }>(
    connections.mysql(),
    "SELECT COUNT(*) AS orders FROM orders WHERE voucher_id = ? AND status = 'confirmed'",
    [voucherId],
  );
  return Number(row?.orders) >= buyers;
}
