/**
 * Rebuilds Redis from MySQL and from what is un-acknowledged in the stream.
 *
 * 1. Freeze: every shard gets an epoch that no process has, so that each purchase is refused.
 * 2. Wait: workers record what they have in hand, and no process remembers a voucher as sold out.
 * 3. The epoch of MySQL changes. From now on MySQL refuses the orders that a worker still has in
 *    hand, so what is read next does not change any more.
 * 4. Read the stream, then MySQL; restore the buyers, the notes, and last the stock. Of a large
 *    sale, some users after the others.
 * 5. Every shard gets the new epoch: sales resume.
 *
 * Every step may be repeated: a rebuild that did not come to its end is started again, and nothing
 * is sold before that. One exception: a failover of Redis may undo step 1. Then instances that know
 * the old epoch sell, no worker records, and the repeated rebuild keeps what they sold.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../../connections/connections.ts';
import { epochsOf, rebuilding, replaceEpoch } from '../../connections/epoch.ts';
import { withMysqlLock } from '../../connections/mysql-pool.ts';
import type { ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript } from '../../connections/scripts.ts';
import { reopensAfterMs } from '../../domain.ts';
import { serviceError } from '../../errors.ts';
import { equalParts } from '../../inventory/shared/bucket-stock.ts';
import {
  inFlight,
  orderDifferences,
  type Sale,
  type SalePart,
  type SaleTerms,
} from './differences.ts';
import { readSales } from './read-sales.ts';
import { type Reconciliation, reconcile } from './reconcile.ts';
import { addBuyers, type RepairPlace, repairOne, repairPlace, runInEpoch } from './repair.ts';

const restoreVoucher = loadScript('sale/restore-voucher');
const forget = loadScript('buckets/forget');
const changeEpoch = loadScript('sale/change-epoch');

export type RebuildStep = 'frozen' | 'alone' | 'read' | 'restored' | 'open';
/** Called after each step, and awaited. */
export type OnRebuildStep = (step: RebuildStep) => void | Promise<void>;

export interface RestoredVoucher {
  readonly voucherId: string;
  /** Redis did not have the sale any more. */
  readonly wasMissing: boolean;
  readonly recorded: number;
  readonly inFlight: number;
  /** Orders of buyers that were in no queue and not in MySQL: they are queued again. */
  readonly queuedAgain: number;
}

export interface Rebuilt {
  readonly after: Reconciliation;
  readonly epoch: string;
  /** Redis had lost sales, and orders with them that no store knows: see reconcile-command.ts. */
  readonly hadLostData: boolean;
  readonly restored: readonly RestoredVoucher[];
  readonly frozenMs: number;
}

/**
 * @param waitMs how long the second step takes
 * @throws REBUILD_RUNNING, EPOCHS_DIFFER, DATA_CHANGED: then nothing is sold until it is repeated.
 */
export async function rebuild(
  connections: Connections,
  onStep: OnRebuildStep = () => {},
  waitMs: number = reopensAfterMs,
): Promise<Rebuilt> {
  const done = await withMysqlLock(connections.config.MYSQL_URL, 'lockstep-rebuild', () =>
    rebuildAlone(connections, onStep, waitMs),
  );
  if (!done) throw serviceError('REBUILD_RUNNING');
  return done;
}

async function rebuildAlone(
  connections: Connections,
  onStep: OnRebuildStep,
  waitMs: number,
): Promise<Rebuilt> {
  const { ofMysql, ofRedis } = await epochsOf(connections);
  const epoch = randomUUID();
  const frozenAt = performance.now();
  await freeze(connections, epoch);
  await onStep('frozen');
  await sleep(waitMs);
  const isReplaced = await replaceEpoch(connections.mysql(), ofMysql, epoch);
  if (!isReplaced) throw serviceError('DATA_CHANGED', ofMysql);
  await onStep('alone');
  let isRead = false;
  const restored = await readSales(connections, {
    part: async (part, terms) => {
      if (!isRead) await onStep('read');
      isRead = true;
      return restoreOrders(connections, part, terms, epoch);
    },
    whole: (sale, parts) => restoreSale(connections, sale, parts, epoch),
  });
  await onStep('restored');
  await open(connections, epoch);
  const frozenMs = Math.round(performance.now() - frozenAt);
  await onStep('open');
  const after = await reconcile(connections);
  const hadLostData = ofRedis === '' || restored.sales.some(({ wasMissing }) => wasMissing);
  return { after, epoch, hadLostData, restored: restored.sales, frozenMs };
}

const during = (epoch: string): string => rebuilding + epoch;

async function freeze(connections: Connections, epoch: string): Promise<void> {
  const redis = connections.redis('admin');
  for (const shard of connections.saleKeys.shards) await redis.set(shard.epoch, during(epoch));
}

interface RestoredPart {
  /** Orders that have no buyer in Redis, because their user has another order. */
  readonly withoutBuyer: number;
  readonly queuedAgain: number;
  readonly inFlight: number;
}

async function restoreOrders(
  connections: Connections,
  part: SalePart,
  terms: SaleTerms,
  epoch: string,
): Promise<RestoredPart> {
  const place = repairPlace(connections, terms, during(epoch));
  const differences = orderDifferences(part);
  const ordersOf = (kind: 'order-without-buyer' | 'buyer-of-another-order') =>
    differences.flatMap((each) => (each.kind === kind ? [each.order] : []));
  await addBuyers(place, ordersOf('order-without-buyer'));
  for (const difference of differences) await repairOne(place, difference, false);
  return {
    withoutBuyer: ordersOf('buyer-of-another-order').length,
    queuedAgain: differences.filter(({ kind }) => kind === 'order-lost').length,
    inFlight: inFlight(part).length,
  };
}

async function restoreSale(
  connections: Connections,
  sale: Sale,
  parts: readonly RestoredPart[],
  epoch: string,
): Promise<RestoredVoucher> {
  const { voucherId, recorded } = sale;
  const place = repairPlace(connections, sale, during(epoch));
  const sum = (name: keyof RestoredPart) => parts.reduce((total, part) => total + part[name], 0);
  const withoutBuyer = sum('withoutBuyer');
  if (sale.buckets !== undefined) await restoreBuckets(place, sale, withoutBuyer);
  else await restoreStock(place, place.shardOf(''), sale, sale.initialStock - withoutBuyer);
  const wasMissing = sale.redis.stock === null;
  const counts = { recorded, inFlight: sum('inFlight'), queuedAgain: sum('queuedAgain') };
  return { voucherId, wasMissing, ...counts };
}

/** @param most what the stock and the buyers of this shard, or bucket, are together. */
async function restoreStock(
  place: RepairPlace,
  { voucher, buyers, epoch }: ShardKeys,
  { voucherId, terms: { change, changeBegunMs, beginMs, endMs, paused } }: Sale,
  most: number,
): Promise<void> {
  const keys = [voucher(voucherId), buyers(voucherId), epoch];
  const terms = [change, changeBegunMs, beginMs, endMs, paused ? '1' : ''];
  await runInEpoch(place, restoreVoucher, keys, [place.epoch, most, ...terms].map(String));
}

/** Nobody buys meanwhile, and what was on its way between two buckets is part of what is left. */
async function restoreBuckets(place: RepairPlace, sale: Sale, withoutBuyer: number): Promise<void> {
  const { connections, voucherId, epoch } = place;
  const redis = connections.redis('admin');
  const buckets = connections.saleKeys.bucketsOf(voucherId, sale.buckets);
  const counts = await Promise.all(buckets.map(({ buyers }) => redis.hlen(buyers(voucherId))));
  const sold = counts.reduce((sum, count) => sum + count, withoutBuyer);
  const parts = equalParts(Math.max(0, sale.initialStock - sold), buckets.length);
  for (const [number, bucket] of buckets.entries()) {
    await runInEpoch(place, forget, [bucket.transfers(voucherId), bucket.epoch], [epoch]);
    await restoreStock(place, bucket, sale, (parts[number] ?? 0) + (counts[number] ?? 0));
  }
}

async function open(connections: Connections, epoch: string): Promise<void> {
  const place = { connections, epoch: during(epoch) };
  for (const shard of connections.saleKeys.shards)
    await runInEpoch(place, changeEpoch, [shard.epoch], [place.epoch, epoch]);
}
