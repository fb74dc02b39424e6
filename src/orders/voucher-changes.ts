/**
 * Changes of a voucher while it is on sale: its title, window and stock, and a pause. Redis sells
 * by them, and MySQL has the journal of who changed what.
 *
 * 1. Begin: MySQL has the change in its journal. A stock that grows is larger in MySQL from now on.
 * 2. Apply: a script changes the sale in Redis. It refuses a stock below what is sold.
 * 3. Settle: MySQL has the new values, and the change is done or refused. A stock that shrinks is
 *    smaller in MySQL from now on: so Redis never sells what MySQL would refuse.
 *
 * Steps 2 and 3 are one transaction of MySQL, under a lock on the voucher, and may be repeated: a
 * process that dies between the steps leaves a begun change, and the next one finishes it. One
 * change of a voucher is begun at a time.
 */
import type { Connections } from '../connections/connections.ts';
import { stayInEpoch } from '../connections/epoch.ts';
import {
  change,
  type Pool,
  type PoolConnection,
  select,
  transaction,
} from '../connections/mysql.ts';
import { type BucketCount, stockPlaces } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { reopensAfterMs } from '../domain.ts';
import {
  ChangeInvalid,
  ChangeUnfinished,
  DataChanged,
  EpochOver,
  HoldLost,
  RedisLostSale,
  SaleEnded,
  StockBelowSold,
} from '../errors.ts';
import { rungNamed } from '../ladder/rungs.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import { changeBucketStock } from './bucket-stock.ts';
import { finalRungs, isFinalRung } from './reconcile/read-sales.ts';

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

/** An entry of the journal. Its values are those after the change. */
export interface VoucherChange {
  /** 1, 2, … for each voucher. */
  readonly number: number;
  readonly operatorId: string;
  readonly state: 'begun' | 'done' | 'refused';
  readonly title: string;
  readonly stockBefore: number;
  readonly stock: number;
  readonly beginTime: Date;
  /** Null until the change is applied, when it closes the sale. */
  readonly endTime: Date | null;
  readonly paused: boolean;
  /** How many were sold, when that is more than the stock: then the change is refused. */
  readonly sold: number | null;
  readonly begunAt: Date;
  readonly settledAt: Date | null;
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
 * @throws ChangeUnfinished: the change is in the journal, and an order worker finishes it;
 *   CommitUnknown: it may be in the journal. After ChangeInvalid, SaleEnded, StockBelowSold,
 *   DataChanged, RedisLostSale, or the error of a store, nothing has changed.
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
    await finish(at);
    return changeSale(connections, voucherId, operatorId, edit);
  }
  await finish(at).catch((cause: unknown) => {
    throw new ChangeUnfinished(voucherId, own, cause);
  });
  const changes = await changesOf(connections.mysql(), voucherId);
  const settled = changes.find(({ number }) => number === own);
  if (settled?.state === 'refused') throw new StockBelowSold(settled.stock, settled.sold ?? 0);
  return settled ?? null;
}

/** The journal of a voucher, the first change first. */
export async function changesOf(
  db: Pool | PoolConnection,
  voucherId: string,
): Promise<VoucherChange[]> {
  const rows = await select<Omit<VoucherChange, 'paused'> & { readonly paused: number }>(
    db,
    `SELECT number, CAST(operator_id AS CHAR) AS operatorId, state, title,
            stock_before AS stockBefore, stock, begin_time AS beginTime, end_time AS endTime,
            paused, sold, begun_at AS begunAt, settled_at AS settledAt
     FROM voucher_changes WHERE voucher_id = ? ORDER BY number`,
    [voucherId],
  );
  return rows.map((row) => ({ ...row, paused: row.paused === 1 }));
}

async function begunChange(
  db: PoolConnection,
  voucherId: string,
): Promise<VoucherChange | undefined> {
  return (await changesOf(db, voucherId)).find(({ state }) => state === 'begun');
}

/**
 * Those that a process left. One whose sale Redis has lost waits for a rebuild.
 * @returns the ids of their vouchers.
 */
export async function finishChanges(
  connections: Connections,
  { epoch = connections.epoch.value, voucherId }: Which = {},
): Promise<string[]> {
  const left = await select<{ id: string }>(
    connections.mysql(),
    "SELECT DISTINCT CAST(voucher_id AS CHAR) AS id FROM voucher_changes WHERE state = 'begun'",
  );
  const finished: string[] = [];
  const problems: unknown[] = [];
  for (const { id } of left) {
    if (voucherId !== undefined && voucherId !== id) continue;
    const done = await finish({ connections, epoch, voucherId: id }).catch((error: unknown) => {
      if (!(error instanceof RedisLostSale)) problems.push(error); // The others do not wait for it.
      return null;
    });
    if (done) finished.push(id);
  }
  if (problems.length > 0) throw problems[0];
  return finished;
}

interface Which {
  /** That of MySQL; the one that this process knows without it. */
  readonly epoch?: string;
  /** Only those of this voucher. */
  readonly voucherId?: string | undefined;
}

/** A voucher, and the epoch in which it is changed. */
interface Place {
  readonly connections: Connections;
  readonly epoch: string;
  readonly voucherId: string;
}

/** @returns the number of the change. */
function begin(
  at: Place,
  operatorId: string,
  edit: VoucherEdit,
): Promise<number | 'another-is-begun' | null> {
  const { voucherId } = at;
  return alone(at, async (db, voucher) => {
    if (await begunChange(db, voucherId)) return 'another-is-begun';
    const changed = edited(voucher, edit);
    const number = (voucher.last ?? 0) + 1;
    const { title, stock, beginTime, endTime, paused } = changed;
    await change(
      db,
      `INSERT INTO voucher_changes (voucher_id, number, operator_id, title, stock_before, stock,
         begin_time, end_time, paused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[voucherId, number, operatorId, title, voucher.stock, stock],
        ...[beginTime, endTime, paused ? 1 : 0],
      ],
    );
    if (stock > voucher.stock) await addStock(db, voucherId, stock - voucher.stock);
    return number;
  });
}

/** @throws ChangeInvalid, SaleEnded */
function edited(voucher: CurrentVoucher, edit: VoucherEdit) {
  if (!isFinalRung(voucher.rung))
    throw new ChangeInvalid(
      `only those of ${finalRungs.join(', ')} change, not of ${voucher.rung}`,
    );
  if (voucher.endTime.getTime() <= Date.now()) throw new SaleEnded(voucher.endTime);
  const { title = voucher.title, stock = voucher.stock } = edit;
  const { beginTime = voucher.beginTime, endTime = voucher.endTime } = edit;
  if (endTime !== 'now' && beginTime >= endTime)
    throw new ChangeInvalid('endTime must be after beginTime');
  const paused = edit.paused ?? voucher.paused === 1;
  return { title, stock, beginTime, endTime: endTime === 'now' ? null : endTime, paused };
}

/** @returns null when no change of this voucher is begun. */
function finish(at: Place): Promise<'finished' | null> {
  const { voucherId } = at;
  return alone(at, async (db, voucher) => {
    const begun = await begunChange(db, voucherId);
    if (!begun) return null;
    await checkpoint('change-begun');
    const applied = await apply(at, voucher, begun);
    await checkpoint('change-applied');
    if (typeof applied === 'number') await refuse(db, voucherId, begun, applied);
    else await settle(db, voucherId, begun, applied);
    return 'finished';
  });
}

/**
 * In Redis.
 * @returns the end of the sale; or how many are sold, when these are more than the stock.
 * @throws DataChanged, HoldLost; RedisLostSale: then the change waits for a rebuild of Redis.
 */
async function apply(
  at: Place,
  { rung, buckets }: CurrentVoucher,
  { number, stock, stockBefore, beginTime, endTime, paused }: VoucherChange,
): Promise<Date | number> {
  const { connections, epoch, voucherId } = at;
  const { saleKeys } = connections;
  const isSplit = rungNamed(rung).buckets && stock !== stockBefore;
  const held = isSplit
    ? await changeBucketStock({ ...at, buckets, number, stock, stockBefore })
    : { hold: '' };
  if (held.sold !== undefined) return held.sold;
  const newStock = isSplit || stock === stockBefore ? '' : String(stock);
  let endMs = endTime === null ? 'now' : String(endTime.getTime());
  for (const place of stockPlaces(saleKeys, voucherId, rungNamed(rung), buckets)) {
    const keys = [place.voucher(voucherId), place.buyers(voucherId), place.epoch];
    const times = [String(beginTime.getTime()), endMs, paused ? '1' : ''];
    const args = [epoch, String(number), newStock, ...times, String(reopensAfterMs), held.hold];
    const redis = connections.redis('admin');
    const answer = await runScript(redis, changeVoucher, keys, args);
    const [word, value] = answer as [string, string];
    if (word === 'below-sold') return Number(value);
    if (word === 'unknown-voucher') throw new RedisLostSale(voucherId);
    if (word === 'not-held') throw new HoldLost(voucherId);
    if (word !== 'changed') throw new DataChanged(epoch);
    endMs = value; // Every bucket ends when the first one does.
  }
  return new Date(Number(endMs));
}

async function settle(
  db: PoolConnection,
  voucherId: string,
  { number, title, stock, stockBefore, beginTime, paused }: VoucherChange,
  endTime: Date,
): Promise<void> {
  await change(db, 'UPDATE vouchers SET title = ?, begin_time = ?, end_time = ? WHERE id = ?', [
    ...[title, beginTime, endTime],
    voucherId,
  ]);
  if (stock < stockBefore) await addStock(db, voucherId, stock - stockBefore);
  await change(
    db,
    'REPLACE INTO voucher_states (voucher_id, change_number, paused) VALUES (?, ?, ?)',
    [voucherId, number, paused ? 1 : 0],
  );
  await change(
    db,
    `UPDATE voucher_changes SET state = 'done', end_time = ?, settled_at = CURRENT_TIMESTAMP(3)
     WHERE voucher_id = ? AND number = ?`,
    [endTime, voucherId, number],
  );
}

async function refuse(
  db: PoolConnection,
  voucherId: string,
  { number, stock, stockBefore }: VoucherChange,
  sold: number,
): Promise<void> {
  if (stock > stockBefore) await addStock(db, voucherId, stockBefore - stock);
  await change(
    db,
    `UPDATE voucher_changes SET state = 'refused', sold = ?, settled_at = CURRENT_TIMESTAMP(3)
     WHERE voucher_id = ? AND number = ?`,
    [sold, voucherId, number],
  );
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
 * it, and then reads what it wrote.
 * @returns null when there is no such voucher.
 * @throws DataChanged, and what `work` throws
 */
function alone<Result>(
  { connections, epoch, voucherId }: Place,
  work: (db: PoolConnection, voucher: CurrentVoucher) => Promise<Result | null>,
): Promise<Result | null> {
  const done = transaction(connections.mysql(), 'READ COMMITTED', async (db) => {
    await stayInEpoch(db, epoch);
    await select(db, 'SELECT id FROM vouchers WHERE id = ? FOR UPDATE', [voucherId]);
    const voucher = await currentVoucher(db, voucherId);
    return voucher ? work(db, voucher) : null;
  });
  return done.catch((error: unknown) => {
    if (!(error instanceof EpochOver || error instanceof DataChanged)) throw error;
    connections.epoch.refresh();
    throw new DataChanged(epoch); // EpochOver speaks of orders.
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
