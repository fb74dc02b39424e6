/**
 * Changes of a voucher while it is on sale: its title, window and stock, and a pause. Redis sells
 * by them, and MySQL has the journal of who changed what.
 *
 * 1. Begin: MySQL has the change in its journal. A stock that grows is larger in MySQL from now on.
 * 2. Apply: a script changes the sale in Redis. It refuses a stock below what is sold.
 * 3. Settle: MySQL has the new values, and the change is done or refused. A stock that shrinks is
 *    smaller in MySQL from now on: so Redis never sells what MySQL would refuse.
 *
 * Steps 1 and 3 are short transactions under a lock on the voucher. No lock is held while Redis is
 * asked, because a process that stands still would keep it from every other one. Steps 2 and 3 may
 * be repeated, also by several processes at once: a process that dies or stands still leaves a
 * begun change, and the next one finishes it. One change of a voucher is begun at a time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { waitsForReplicas } from '../config.ts';
import type { Connections } from '../connections/connections.ts';
import { stayInEpoch } from '../connections/epoch.ts';
import { change, type PoolConnection, select, transaction } from '../connections/mysql.ts';
import { type BucketCount, type ShardKeys, stockPlaces } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { keptAfterEndMs, reopensAfterMs } from '../domain.ts';
import { isServiceError, serviceError } from '../errors.ts';
import { confirmWrites } from '../inventory/shared/replica-acknowledgement.ts';
import { finalRungs, isFinalRung, rungNamed } from '../ladder/rungs.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import { changeBucketStock, changeProblem, type VoucherInEpoch } from './bucket-stock.ts';
import {
  type BegunChange,
  begunChange,
  changeNumbered,
  insertBegun,
  markSettled,
  recordLast,
  type VoucherChange,
  vouchersBegun,
} from './change-journal.ts';

const changeVoucher = loadScript('sale/change-voucher');

/** What an operator asks for; what is absent stays as it is. */
export interface VoucherEdit {
  readonly title?: string | undefined;
  /** With the units that are sold. */
  readonly stock?: number | undefined;
  readonly beginTime?: Date | undefined;
  /** `now` closes the sale, when the change is applied. */
  readonly endTime?: Date | 'now' | undefined;
  readonly paused?: boolean | undefined;
}

interface CurrentVoucher {
  readonly rung: string;
  readonly buckets: BucketCount;
  readonly title: string;
  readonly stock: number;
  readonly beginTime: Date;
  readonly endTime: Date;
  readonly paused: number | null;
  /** Of the last change, also of a refused one; null before the first. */
  readonly last: number | null;
}

/**
 * @returns null when there is no such voucher.
 * @throws CHANGE_UNFINISHED: the change is in the journal, and an order worker finishes it;
 *   COMMIT_UNKNOWN: it may be in the journal. After CHANGE_INVALID, SALE_ENDED, STOCK_BELOW_SOLD,
 *   MYSQL_BEHIND, DATA_CHANGED, REDIS_LOST_SALE, HOLD_LOST, REPLICA_BEHIND, or the error of a
 *   store, nothing has changed.
 */
export async function changeSale(
  connections: Connections,
  voucherId: string,
  operatorId: string,
  edit: VoucherEdit,
): Promise<VoucherChange | null> {
  const at = { connections, epoch: connections.epoch.value, voucherId };
  const own = await begin(at, operatorId, edit);
  if (own === null) return null;
  if (own === 'another-is-begun') {
    await finishAnother(at);
    return changeSale(connections, voucherId, operatorId, edit);
  }
  const settled = await finishOwn(at, own);
  if (settled.state !== 'refused') return settled;
  if (settled.sold === null) throw serviceError('MYSQL_BEHIND', voucherId, own);
  throw serviceError('STOCK_BELOW_SOLD', settled.stock, settled.sold);
}

/** Two processes that change the stock of buckets end each other's holds. */
const triesMax = 5;
const longestRestMs = 200;
/** Much longer than a change takes. */
const ownProcessMs = 500;
const shortRestMs = 20;

/**
 * Its own process has some time to finish it.
 * @throws the last error: the change of this caller was not begun.
 */
async function finishAnother(at: VoucherInEpoch): Promise<void> {
  const untilMs = performance.now() + ownProcessMs;
  while (performance.now() < untilMs) {
    if (!(await begunChange(at.connections.mysql(), at.voucherId))) return;
    await sleep(Math.random() * shortRestMs);
  }
  for (let tries = 1; ; tries++) {
    try {
      await finish(at);
      return;
    } catch (error) {
      const passes = isServiceError(error, 'HOLD_LOST', 'REPLICA_BEHIND', 'COMMIT_UNKNOWN');
      if (!passes || tries === triesMax) throw error;
    }
    await sleep(Math.random() * longestRestMs); // Both would end each other's holds again.
  }
}

/** Another process may finish it first. @throws CHANGE_UNFINISHED */
async function finishOwn(at: VoucherInEpoch, own: number): Promise<VoucherChange> {
  const { connections, voucherId } = at;
  for (let tries = 1; ; tries++) {
    const cause = await finish(at).then(
      () => null,
      (error: unknown) => error,
    );
    const found = await changeNumbered(connections.mysql(), voucherId, own).catch(() => undefined);
    if (found && found.state !== 'begun') return found;
    if (!isServiceError(cause, 'HOLD_LOST') || tries === triesMax)
      throw serviceError('CHANGE_UNFINISHED', voucherId, own).causedBy(cause);
    await sleep(Math.random() * longestRestMs);
  }
}

/**
 * Those that a process left. One whose sale Redis has lost waits for a rebuild.
 * @returns the ids of their vouchers.
 */
export async function finishChanges(
  connections: Connections,
  { epoch = connections.epoch.value, voucherId, ageMsMin = 0 }: Which = {},
): Promise<string[]> {
  const finished: string[] = [];
  const problems: unknown[] = [];
  for (const id of await vouchersBegun(connections.mysql(), ageMsMin)) {
    if (voucherId !== undefined && voucherId !== id) continue;
    const done = await finish({ connections, epoch, voucherId: id }).catch((error: unknown) => {
      if (!isServiceError(error, 'REDIS_LOST_SALE')) problems.push(error); // The others do not wait for it.
      return null;
    });
    if (done) finished.push(id);
  }
  if (problems.length > 0) throw problems[0];
  return finished;
}

interface Which {
  /** The epoch of MySQL; if it is absent, the epoch that this process knows. */
  readonly epoch?: string;
  readonly voucherId?: string | undefined;
  /** Leaves out younger changes: their own process may still finish them. */
  readonly ageMsMin?: number;
}

/** @returns the number of the change. */
function begin(
  at: VoucherInEpoch,
  operatorId: string,
  edit: VoucherEdit,
): Promise<number | 'another-is-begun' | null> {
  const { voucherId } = at;
  return alone(at, async (db) => {
    const voucher = await currentVoucher(db, voucherId);
    if (!voucher) return null;
    if (await begunChange(db, voucherId)) return 'another-is-begun';
    const changed = edited(voucher, edit);
    const number = (voucher.last ?? 0) + 1;
    const stockBefore = voucher.stock;
    await insertBegun(db, voucherId, { number, operatorId, stockBefore, ...changed });
    if (changed.stock > stockBefore) await addStock(db, voucherId, changed.stock - stockBefore);
    return number;
  });
}

/** @throws CHANGE_INVALID, SALE_ENDED */
function edited(voucher: CurrentVoucher, edit: VoucherEdit) {
  if (!isFinalRung(voucher.rung))
    throw serviceError(
      'CHANGE_INVALID',
      `only those of ${finalRungs.join(', ')} change, not of ${voucher.rung}`,
    );
  if (voucher.endTime.getTime() <= Date.now()) throw serviceError('SALE_ENDED', voucher.endTime);
  const { title = voucher.title, stock = voucher.stock } = edit;
  const { beginTime = voucher.beginTime, endTime = voucher.endTime } = edit;
  if (endTime !== 'now' && beginTime >= endTime)
    throw serviceError('CHANGE_INVALID', 'endTime must be after beginTime');
  const paused = edit.paused ?? voucher.paused === 1;
  return { title, stock, beginTime, endTime: endTime === 'now' ? null : endTime, paused };
}

/**
 * Applies and settles the change that is begun.
 * @returns null when none is, or another process has settled it.
 */
async function finish(at: VoucherInEpoch): Promise<'finished' | null> {
  const { connections, voucherId } = at;
  const begun = await begunChange(connections.mysql(), voucherId);
  if (!begun) return null;
  await checkpoint('change-begun');
  const applied = await inItsEpoch(at, () => apply(at, begun));
  await checkpoint('change-applied');
  return alone(at, async (db) => {
    if (!isSameChange(await begunChange(db, voucherId), begun)) return null;
    if (applied.endTime) await settle(db, voucherId, begun, applied.endTime);
    else await refuse(db, voucherId, begun, applied.sold);
    return 'finished';
  });
}

/** MySQL may have lost it, and begun another one under its number. */
const isSameChange = (one: BegunChange | undefined, other: BegunChange): boolean =>
  one?.number === other.number && one.begunAt.getTime() === other.begunAt.getTime();

/**
 * In Redis. `sold`: the change is refused, because more are sold than its stock; null when Redis
 * has a later change than MySQL.
 */
type ChangeResult =
  | { readonly endTime: Date }
  | { readonly endTime?: undefined; readonly sold: number | null };

/**
 * When it answers, a replica that may be promoted has the change too.
 * @throws DATA_CHANGED, HOLD_LOST, REPLICA_BEHIND; REDIS_LOST_SALE: then the change waits for a
 *   rebuild of Redis.
 */
async function apply(at: VoucherInEpoch, begun: BegunChange): Promise<ChangeResult> {
  const { connections, voucherId } = at;
  const { rung, buckets, stock, stockBefore } = begun;
  const places = stockPlaces(connections.saleKeys, voucherId, rungNamed(rung), buckets);
  const isSplit = rungNamed(rung).buckets === true && stock !== stockBefore;
  const wanted = { stock, stockBefore, change: asLastChange(begun) };
  const held = isSplit ? await changeBucketStock({ ...at, buckets, ...wanted }) : { hold: '' };
  const newStock = isSplit || stock === stockBefore ? '' : String(stock);
  const applied =
    held.sold === undefined
      ? await applyIn(at, places, begun, newStock, held.hold)
      : { sold: held.sold }; // Null: a bucket has a later change.
  const replicas = waitsForReplicas(connections.config);
  if (replicas > 0) await confirmWrites(connections.redis('admin'), places, replicas);
  return applied;
}

async function applyIn(
  at: VoucherInEpoch,
  places: readonly ShardKeys[],
  begun: BegunChange,
  newStock: string,
  hold: string,
): Promise<ChangeResult> {
  const { connections, epoch, voucherId } = at;
  const { beginTime, endTime, paused } = begun;
  const { number, begunMs, before } = asLastChange(begun);
  let endMs = endTime === null ? 'now' : String(endTime.getTime());
  for (const place of places) {
    const keys = [place.voucher(voucherId), place.buyers(voucherId), place.epoch];
    const times = [String(beginTime.getTime()), endMs, paused ? '1' : ''];
    const args = [epoch, number, begunMs, before, newStock, ...times, String(reopensAfterMs), hold];
    const answer = await runScript(connections.redis('admin'), changeVoucher, keys, args);
    const [word, value] = answer as [string, string];
    if (word === 'below-sold') return { sold: Number(value) };
    if (word === 'later-change') return { sold: null };
    if (word !== 'changed') throw changeProblem(word, at);
    endMs = value; // Every bucket ends when the first one does.
  }
  const keptUntilMs = Number(endMs) + keptAfterEndMs;
  const redis = connections.redis('admin');
  for (const key of connections.saleKeys.of(voucherId).waiting(voucherId))
    await redis.pexpireat(key, keptUntilMs); // It was set to the end of before.
  return { endTime: new Date(Number(endMs)) };
}

/** As the scripts take it. */
const asLastChange = ({ number, begunAt, before }: BegunChange) => ({
  number: String(number),
  begunMs: String(begunAt.getTime()),
  before: String(before ?? 0),
});

async function settle(
  db: PoolConnection,
  voucherId: string,
  { number, title, stock, stockBefore, beginTime, paused }: BegunChange,
  endTime: Date,
): Promise<void> {
  await change(db, 'UPDATE vouchers SET title = ?, begin_time = ?, end_time = ? WHERE id = ?', [
    ...[title, beginTime, endTime],
    voucherId,
  ]);
  if (stock < stockBefore) await addStock(db, voucherId, stock - stockBefore);
  await recordLast(db, voucherId, number, paused);
  await markSettled(db, voucherId, { number, state: 'done', endTime, sold: null });
}

/** Redis has refused it under its number too, unless MySQL does not know the changes before it. */
async function refuse(
  db: PoolConnection,
  voucherId: string,
  { number, stock, stockBefore, endTime }: BegunChange,
  sold: number | null,
): Promise<void> {
  if (stock > stockBefore) await addStock(db, voucherId, stockBefore - stock);
  const wasPaused = (await currentVoucher(db, voucherId))?.paused === 1;
  if (sold !== null) await recordLast(db, voucherId, number, wasPaused);
  await markSettled(db, voucherId, { number, state: 'refused', endTime, sold });
}

async function addStock(db: PoolConnection, voucherId: string, units: number): Promise<void> {
  await change(
    db,
    `UPDATE seckill_stock SET initial_stock = initial_stock + ?, stock = stock + ?
     WHERE voucher_id = ?`,
    [units, units, voucherId],
  );
}

/**
 * In a transaction that holds the lock of the voucher, and the epoch: a rebuild of Redis waits for
 * it, and then reads what it wrote. It asks no other store.
 * @throws DATA_CHANGED, and what `work` throws
 */
function alone<Result>(
  at: VoucherInEpoch,
  work: (db: PoolConnection) => Promise<Result | null>,
): Promise<Result | null> {
  const { connections, epoch, voucherId } = at;
  return inItsEpoch(at, () =>
    transaction(connections.mysql(), 'READ COMMITTED', async (db) => {
      await stayInEpoch(db, epoch);
      await select(db, 'SELECT id FROM vouchers WHERE id = ? FOR UPDATE', [voucherId]);
      return work(db);
    }),
  );
}

/** @throws DATA_CHANGED: the next change is made in the epoch that MySQL has now. */
function inItsEpoch<Result>(
  { connections, epoch }: VoucherInEpoch,
  work: () => Promise<Result>,
): Promise<Result> {
  return work().catch((error: unknown) => {
    if (!isServiceError(error, 'EPOCH_OVER', 'DATA_CHANGED')) throw error;
    connections.epoch.refresh();
    throw serviceError('DATA_CHANGED', epoch); // EPOCH_OVER speaks of orders.
  });
}

async function currentVoucher(
  db: PoolConnection,
  voucherId: string,
): Promise<CurrentVoucher | undefined> {
  const [row] = await select<CurrentVoucher>(
    db,
    `SELECT v.rung, b.buckets, v.title, s.initial_stock AS stock, v.begin_time AS beginTime,
            v.end_time AS endTime, st.paused,
            (SELECT MAX(number) FROM voucher_changes WHERE voucher_id = v.id) AS last
     FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id
     LEFT JOIN voucher_buckets b ON b.voucher_id = v.id
     LEFT JOIN voucher_states st ON st.voucher_id = v.id WHERE v.id = ?`,
    [voucherId],
  );
  return row;
}
