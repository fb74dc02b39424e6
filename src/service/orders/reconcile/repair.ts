/**
 * Repairs what `compare` found, and nothing that it did not see twice. Every step is a script that
 * may run twice, and looks again before it writes. The stock is lowered at once, and raised only
 * when every order has its buyer: rather too few are sold.
 */

import type { RowOf } from '../../audit/sentences.ts';
import type { Connections } from '../../connections/connections.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { type Order, reopensAfterMs } from '../../domain.ts';
import { serviceError } from '../../errors.ts';
import type { repairSentences } from '../../operate/sentences.ts';
import { correctBucketStock, finishTransfers } from '../bucket-stock.ts';
import { giveBackFailed } from '../dead-letters.ts';
import type { Difference, InStream, SaleTerms } from './differences.ts';
import { compare, type ReconciledVoucher, type Reconciliation } from './reconcile.ts';

const restoreBuyers = loadScript('sale/restore-buyers');
const correctSale = loadScript('sale/correct-sale');
const queueAgain = loadScript('sale/queue-again');
const noteQueued = loadScript('sale/note-queued');

/** The first restores buyers and lowers a stock; the second may raise one. */
const repairsMax = 3;
const buyersAtOnce = 500;

type RepairSentence = RowOf<typeof repairSentences>;

export interface RepairStep {
  readonly voucherId: string;
  readonly says: RepairSentence;
}

export interface Repair {
  /** How it is now. */
  readonly after: Reconciliation;
  readonly repaired: readonly RepairStep[];
}

export async function repair(connections: Connections, voucherId?: string): Promise<Repair> {
  // A list of lists: as arguments of one `push`, 120,000 would be too many.
  const repaired: RepairStep[][] = [];
  let { reconciliation: found, epoch } = await compare(connections, voucherId);
  for (const voucher of found.vouchers)
    repaired.push(await transfersFinished(connections, voucher, epoch));
  for (let times = 1; times <= repairsMax && found.verdict === 'inconsistent'; times++) {
    const before = repaired.flat().length;
    for (const voucher of found.vouchers)
      repaired.push(await repairVoucher(connections, voucher, epoch));
    ({ reconciliation: found, epoch } = await compare(connections, voucherId));
    if (repaired.flat().length === before) break;
  }
  return { after: found, repaired: repaired.flat() };
}

/** Of the transfers between buckets that a process left half-way. @throws DATA_CHANGED */
async function transfersFinished(
  connections: Connections,
  { voucherId, buckets }: SaleTerms,
  epoch: string,
): Promise<RepairStep[]> {
  if (buckets === undefined) return [];
  const finished = await finishTransfers({ connections, epoch, voucherId, buckets });
  if (finished === 0) return [];
  return [{ voucherId, says: ['transfers-finished', finished] }];
}

/** Of one voucher. The initial stock belongs to the change of its terms. */
export interface RepairPlace extends SaleTerms {
  readonly connections: Connections;
  readonly shardOf: (userId: string) => ShardKeys;
  /** Redis writes only while it has this epoch. */
  readonly epoch: string;
}

export function repairPlace(
  connections: Connections,
  { voucherId, initialStock, terms, buckets }: SaleTerms,
  epoch: string,
): RepairPlace {
  const { of, bucketOf } = connections.saleKeys;
  const shardOf = (userId: string) =>
    buckets === undefined ? of(voucherId) : bucketOf(voucherId, userId, buckets);
  return { voucherId, initialStock, terms, buckets, connections, shardOf, epoch };
}

export async function repairVoucher(
  connections: Connections,
  voucher: ReconciledVoucher,
  epoch: string,
): Promise<RepairStep[]> {
  const { voucherId, differences } = voucher;
  const place = repairPlace(connections, voucher, epoch);
  const missing = differences.flatMap((each) =>
    each.kind === 'order-without-buyer' ? [each.order] : [],
  );
  await addBuyers(place, missing); // First: the stock is corrected by the number of buyers.
  const mayRaise = !differences.some(({ kind }) => withoutBuyer.includes(kind));
  const done: RepairStep[] = [];
  for (const difference of differences) {
    const says = await repairOne(place, difference, mayRaise);
    if (says !== null) done.push({ voucherId, says });
  }
  return done;
}

/** While an order has no buyer, the number of buyers does not say how many are sold. */
const withoutBuyer: readonly Difference['kind'][] = [
  'order-without-buyer',
  'buyer-of-another-order',
];

/** @returns what was done; null when nothing was. */
export async function repairOne(
  place: RepairPlace,
  difference: Difference,
  mayRaise: boolean,
): Promise<RepairSentence | null> {
  switch (difference.kind) {
    case 'change': {
      const isCorrected = await setSale(place, difference.inRedis, mayRaise);
      return isCorrected ? ['change-brought-back', place.terms.change] : null;
    }
    case 'stock':
      return (await setStock(place, mayRaise)) ? ['stock-corrected'] : null;
    case 'order-without-buyer':
      return ['buyer-again', difference.order.userId, difference.order.id];
    case 'order-lost':
      return queueOrder(place, difference.order);
    case 'buyer-of-failed-order':
      await giveBackFailed(place.connections, difference.order);
      return ['given-back', difference.order.id];
    case 'note-without-order':
      await removeNote(place, difference.orderId);
      return ['note-removed', difference.orderId];
    case 'order-without-note':
      return noteOrder(place, difference.entry);
    case 'buyer-of-another-order': // A worker refuses one of the two, and corrects the buyer.
    case 'sale-missing': // A rebuild restores it.
    case 'stock-of-mysql': // Somebody changed MySQL by hand.
    case 'order-of-another-user':
    case 'change-of-mysql': // Only a person knows which of the two is right.
      return null;
  }
}

/** @throws DATA_CHANGED */
export async function addBuyers(place: RepairPlace, orders: readonly Order[]): Promise<void> {
  const { shardOf, voucherId, epoch } = place;
  const byPlace = Map.groupBy(orders, ({ userId }) => shardOf(userId).buyers(voucherId));
  for (const [buyersKey, own] of byPlace) {
    const shard = shardOf(own[0]?.userId ?? '');
    const keys = [buyersKey, shard.epoch, shard.voucher(voucherId)];
    for (let from = 0; from < own.length; from += buyersAtOnce) {
      const some = own.slice(from, from + buyersAtOnce);
      const buyers = some.flatMap(({ id, userId, requestId }) => [userId, `${id}:${requestId}`]);
      await runInEpoch(place, restoreBuyers, keys, [epoch, JSON.stringify(buyers)]);
    }
  }
}

/** Wherever it is: an order id is in one shard only. */
async function removeNote({ connections }: RepairPlace, orderId: string): Promise<void> {
  const redis = connections.redis('admin');
  for (const { queued } of connections.saleKeys.shards) await redis.hdel(queued, orderId);
}

/**
 * The last change of an operator, and the stock where it is not split.
 * @param inRedis the number of the last change that Redis had
 * @throws DATA_CHANGED
 */
async function setSale(place: RepairPlace, inRedis: number, mayRaise: boolean): Promise<boolean> {
  const { connections, buckets, voucherId, initialStock, epoch } = place;
  const { change, changeBegunMs, beginMs, endMs, paused } = place.terms;
  const isSplit = buckets !== undefined;
  const { saleKeys } = connections;
  const places = isSplit ? saleKeys.bucketsOf(voucherId, buckets) : [saleKeys.of(voucherId)];
  const stock = [isSplit ? '' : initialStock, mayRaise ? '1' : '', reopensAfterMs];
  const terms = [inRedis, change, changeBegunMs, beginMs, endMs, paused ? '1' : ''];
  const answers: unknown[] = [];
  for (const { voucher, buyers, epoch: epochKey } of places) {
    const keys = [voucher(voucherId), buyers(voucherId), epochKey];
    const args = [epoch, ...stock, ...terms].map(String);
    answers.push(await runInEpoch(place, correctSale, keys, args));
  }
  return answers.includes('corrected');
}

/** @throws DATA_CHANGED, REDIS_LOST_SALE */
function setStock(place: RepairPlace, mayRaise: boolean): Promise<boolean> {
  const { connections, buckets, voucherId, initialStock: stock, epoch } = place;
  const { change, changeBegunMs } = place.terms;
  if (buckets === undefined) return setSale(place, change, mayRaise);
  const number = String(change);
  const last = { number, begunMs: changeBegunMs, before: number };
  const asked = { connections, epoch, voucherId, buckets, stock, stockBefore: stock, change: last };
  return correctBucketStock(asked, mayRaise);
}

/** The same order, under its own id: MySQL records it once, however often it is queued. */
async function queueOrder(place: RepairPlace, order: Order): Promise<RepairSentence | null> {
  const { epoch } = place;
  const { id, voucherId, userId, requestId } = order;
  const shard = place.shardOf(userId);
  const keys = [shard.buyers(voucherId), shard.orders, shard.queued, shard.epoch];
  const answer = await runInEpoch(place, queueAgain, keys, [
    epoch,
    id,
    voucherId,
    userId,
    requestId,
  ]);
  return answer === 'queued' ? ['queued-again', id, userId] : null;
}

async function noteOrder(
  place: RepairPlace,
  { entryId, order }: InStream,
): Promise<RepairSentence | null> {
  const { orders, queued } = place.shardOf(order.userId);
  const args = [entryId, order.id, order.voucherId, order.userId];
  const answer = await runInEpoch(place, noteQueued, [orders, queued], args);
  return answer === 'noted' ? ['noted', order.id] : null;
}

/** @throws DATA_CHANGED */
export async function runInEpoch(
  { connections, epoch }: Pick<RepairPlace, 'connections' | 'epoch'>,
  script: Parameters<typeof runScript>[1],
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const answer = await runScript(connections.redis('admin'), script, keys, args);
  if (answer === 'other-epoch') throw serviceError('DATA_CHANGED', epoch);
  return answer;
}
