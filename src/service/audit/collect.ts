/**
 * Reads the facts of one voucher from MySQL and Redis: with read-history.ts the only input of this
 * folder.
 */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { type Pool, type PoolConnection, select, snapshot } from '../connections/mysql.ts';
import { readSale, scanHash } from '../connections/read-sale.ts';
import {
  type BucketCount,
  type SaleKeys,
  type ShardKeys,
  stockPlaces,
} from '../connections/sale-keys.ts';
import { stockOfBuckets } from '../inventory/shared/bucket-stock.ts';
import { remaining } from '../inventory/shared/claims.ts';
import type { Rung } from '../ladder/rung.ts';
import { rungNamed } from '../ladder/rungs.ts';
import type { Facts, OrderRow } from './facts.ts';

/** @returns null when there is no such voucher. */
export async function collectFacts(
  connections: Connections,
  voucherId: string,
): Promise<Facts | null> {
  const redis = connections.redis('admin');
  const place = await salePlaceOf(connections, voucherId);
  if (place === null) return null;
  // Redis first: an order that leaves its queue in the meantime is in MySQL by the time that is
  // read.
  const before = await counts(redis, place);
  const inRedis = await collectRedis(redis, place);
  const inMysql = await collectMysql(connections.mysql(), voucherId);
  const after = await counts(redis, place);
  if (!inMysql) return null;
  const { stock, orders, units, stocks } = inMysql;
  const facts = {
    ...voucherFacts(voucherId, inMysql),
    mysql: { stock, orders, ...soldByUnit(units) },
    ...(stocks.length > 0 && { stocks }),
  };
  const isMoving = before !== after || isChanging(inMysql);
  if (isRemovedSale(inMysql, { ...inRedis, buyers: Object.keys(inRedis.buyers).length }))
    return facts;
  if (place.rung.queue) return { ...facts, redis: { ...inRedis, isMoving } };
  // A rung without a queue may keep its stock in Redis, and its buyers in MySQL only.
  const { stock: stockLeft, queued } = inRedis;
  if (stockLeft === null) return facts;
  return { ...facts, redis: { stock: stockLeft, queued, isMoving } };
}

/** The facts that every part of a sale has. */
export function voucherFacts(
  voucherId: string,
  { rung, initialStock, createdAt }: NumbersInMysql,
): Omit<Facts, 'mysql'> {
  const { onePerUser, lock } = rungNamed(rung);
  const isLocked = lock !== undefined;
  const created = createdAt.toISOString();
  return { voucherId, rung, onePerUser, initialStock, createdAt: created, locked: isLocked };
}

/** The keys of a sale that is over may be deleted: then Redis says nothing about it. */
export const isRemovedSale = (
  { endTime }: Pick<InMysql, 'endTime'>,
  inRedis: {
    readonly stock: number | null;
    readonly buyers: number;
    readonly queued: readonly string[];
  },
): boolean =>
  Date.now() > endTime.getTime() &&
  inRedis.stock === null &&
  inRedis.buyers === 0 &&
  inRedis.queued.length === 0;

/** Where Redis has the sale of a voucher, and how it is sold. */
export interface SalePlace {
  readonly saleKeys: SaleKeys;
  readonly voucherId: string;
  readonly rung: Rung;
  readonly buckets: BucketCount;
}

/** A voucher never changes it. Null when there is no such voucher. */
export async function salePlaceOf(
  connections: Connections,
  voucherId: string,
): Promise<SalePlace | null> {
  const [row] = await select<{ rung: string; buckets: BucketCount }>(
    connections.mysql(),
    `SELECT v.rung, b.buckets
     FROM vouchers v LEFT JOIN voucher_buckets b ON b.voucher_id = v.id WHERE v.id = ?`,
    [voucherId],
  );
  const { saleKeys } = connections;
  return row ? { saleKeys, voucherId, rung: rungNamed(row.rung), buckets: row.buckets } : null;
}

export const placesOf = ({ saleKeys, voucherId, rung, buckets }: SalePlace): readonly ShardKeys[] =>
  stockPlaces(saleKeys, voucherId, rung, buckets);

/**
 * Stock and number of buyers in one moment, for each bucket; a change between two of them is a
 * running sale. Not the queue: it has the orders of other sales too.
 */
export async function counts(redis: Redis, place: SalePlace): Promise<string> {
  const moments = placesOf(place).map((each) => momentOf(redis, each, place.voucherId));
  return JSON.stringify(await Promise.all(moments));
}

async function momentOf(redis: Redis, place: ShardKeys, voucherId: string): Promise<unknown[]> {
  const { sale, buyers, transfers } = await readSale(redis, place, voucherId);
  return [sale['stock'], buyers, transfers['moves']];
}

interface InMysql {
  readonly createdAt: Date;
  readonly endTime: Date;
  readonly rung: string;
  readonly initialStock: number;
  readonly stock: number;
  readonly orders: readonly OrderRow[];
  /** 1 while a change of an operator is begun, and not settled. */
  readonly changing: number | string;
  /** None when it was never changed. */
  readonly stocks: readonly number[];
  /** The order of each unit, null for an unsold one; no units where the rung has none. */
  readonly units: readonly (string | null)[];
}

/** A rung with a row per unit never writes the stock of the voucher: its units are the stock. */
function soldByUnit(units: InMysql['units']): Pick<Facts['mysql'], 'stock' | 'unitOrders'> | null {
  if (units.length === 0) return null;
  const unitOrders = units.filter((orderId) => orderId !== null);
  return { stock: units.length - unitOrders.length, unitOrders };
}

const collectMysql = (pool: Pool, voucherId: string): Promise<InMysql | undefined> =>
  snapshot(pool, async (db) => {
    const voucher = await numbersOf(db, voucherId);
    const orders = await select<OrderRow>(db, `${selectOrders} WHERE voucher_id = ? ORDER BY id`, [
      voucherId,
    ]);
    const units = await select<{ orderId: string | null }>(
      db,
      'SELECT CAST(order_id AS CHAR) AS orderId FROM voucher_units WHERE voucher_id = ?',
      [voucherId],
    );
    const stocks = await stocksOf(db, voucherId);
    return voucher && { ...voucher, orders, stocks, units: units.map(({ orderId }) => orderId) };
  });

async function stocksOf(db: PoolConnection, voucherId: string): Promise<number[]> {
  const changes = await select<{ stockBefore: number; stock: number }>(
    db,
    `SELECT stock_before AS stockBefore, stock FROM voucher_changes
     WHERE voucher_id = ? AND state <> 'refused' ORDER BY number`,
    [voucherId],
  );
  return changes.flatMap(({ stockBefore, stock }) => [stockBefore, stock]);
}

export type NumbersInMysql = Omit<InMysql, 'orders' | 'units' | 'stocks'>;

/** Then the two stores may have another stock of it. */
export const isChanging = ({ changing }: NumbersInMysql): boolean => Number(changing) === 1;

export async function numbersOf(
  db: PoolConnection,
  voucherId: string,
): Promise<NumbersInMysql | undefined> {
  const [voucher] = await select<NumbersInMysql>(
    db,
    `SELECT v.created_at AS createdAt, v.end_time AS endTime, v.rung,
            s.initial_stock AS initialStock, s.stock,
            EXISTS (SELECT 1 FROM voucher_changes c
                    WHERE c.voucher_id = v.id AND c.state = 'begun') AS changing
     FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id WHERE v.id = ?`,
    [voucherId],
  );
  return voucher;
}

export const selectOrders = `
  SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId, status, reason,
         IF(request_id LIKE 'replay:%', SUBSTRING(request_id, 8), NULL) AS replayOf
  FROM orders`;

/** Null when Redis does not have the voucher. */
export async function stockInRedis(
  redis: Redis,
  { saleKeys, voucherId, rung, buckets }: SalePlace,
): Promise<number | null> {
  if (rung.buckets) return (await stockOfBuckets(redis, saleKeys, voucherId, buckets)).stock;
  return remaining(redis, saleKeys, voucherId);
}

/** The ids of its orders that wait to be recorded. */
export async function queuedIn(redis: Redis, sale: SalePlace): Promise<string[]> {
  const noted: [string, string][][] = [];
  for (const { queued } of placesOf(sale)) noted.push(await scanHash(redis, queued));
  const own = noted.flat().filter(([, note]) => note.startsWith(`${sale.voucherId}:`));
  return [...new Set(own.map(([id]) => id))];
}

export const orderOfBuyer = (value: string): string => value.slice(0, value.indexOf(':'));

async function collectRedis(redis: Redis, sale: SalePlace) {
  const { voucherId } = sale;
  const stock = await stockInRedis(redis, sale);
  // Lists of lists: `push(...buyers)` throws from 120,000 buyers on, each being an argument.
  const bought: [string, string][][] = [];
  for (const place of placesOf(sale)) bought.push(await scanHash(redis, place.buyers(voucherId)));
  const buyers = bought.flat().map(([userId, value]) => [userId, orderOfBuyer(value)]);
  return { stock, buyers: Object.fromEntries(buyers), queued: await queuedIn(redis, sale) };
}
