/**
 * Reads the facts of one voucher from MySQL and Redis: with read-history.ts the only input of this
 * folder.
 */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { type Pool, select } from '../connections/mysql.ts';
import {
  type BucketCount,
  type SaleKeys,
  type ShardKeys,
  stockPlaces,
} from '../connections/sale-keys.ts';
import { scanHash } from '../connections/scan-hash.ts';
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
  const sold = await wayOfSale(connections.mysql(), voucherId);
  if (sold === undefined) return null;
  const { saleKeys } = connections;
  const place = { saleKeys, voucherId, rung: rungNamed(sold.rung), buckets: sold.buckets };
  // Redis first: an order that leaves its queue in the meantime is in MySQL by the time that is
  // read.
  const before = await counts(redis, place);
  const inRedis = await collectRedis(redis, place);
  const inMysql = await collectMysql(connections.mysql(), voucherId);
  const after = await counts(redis, place);
  if (!inMysql) return null;
  const { rung, initialStock, stock, orders, units } = inMysql;
  const { onePerUser, lock, queue } = rungNamed(rung);
  const facts = {
    ...{ voucherId, rung, onePerUser, initialStock },
    createdAt: inMysql.createdAt.toISOString(),
    locked: lock !== undefined,
    mysql: { stock, orders, ...soldByUnit(units) },
  };
  const isMoving = before !== after;
  if (queue) return { ...facts, redis: { ...inRedis, isMoving } };
  // A rung without a queue may keep its stock in Redis, and its buyers in MySQL only.
  const { stock: stockInRedis, queued } = inRedis;
  if (stockInRedis === null) return facts;
  return { ...facts, redis: { stock: stockInRedis, queued, isMoving } };
}

interface WayOfSale {
  readonly rung: string;
  readonly buckets: BucketCount;
}

/** A voucher never changes it. */
async function wayOfSale(pool: Pool, voucherId: string): Promise<WayOfSale | undefined> {
  const [row] = await select<WayOfSale>(
    pool,
    `SELECT v.rung, b.buckets
     FROM vouchers v LEFT JOIN voucher_buckets b ON b.voucher_id = v.id WHERE v.id = ?`,
    [voucherId],
  );
  return row;
}

interface SalePlace {
  readonly saleKeys: SaleKeys;
  readonly voucherId: string;
  readonly rung: Pick<Rung, 'buckets'>;
  readonly buckets: BucketCount;
}

const placesOf = ({ saleKeys, voucherId, rung, buckets }: SalePlace): readonly ShardKeys[] =>
  stockPlaces(saleKeys, voucherId, rung, buckets);

/**
 * Stock, number of buyers and number of queued orders in one moment, for each bucket; a change
 * between two of them is a running sale.
 */
async function counts(redis: Redis, place: SalePlace): Promise<string> {
  const moments = placesOf(place).map((each) => momentOf(redis, each, place.voucherId));
  return JSON.stringify(await Promise.all(moments));
}

async function momentOf(redis: Redis, place: ShardKeys, voucherId: string): Promise<unknown[]> {
  const { voucher, buyers, queued, transfers } = place;
  const moment = redis.multi().hget(voucher(voucherId), 'stock').hlen(buyers(voucherId));
  const results = await moment.hlen(queued).hget(transfers(voucherId), 'moves').exec();
  return (results ?? []).map(([, value]) => value);
}

interface InMysql {
  readonly createdAt: Date;
  readonly rung: string;
  readonly initialStock: number;
  readonly stock: number;
  readonly orders: readonly OrderRow[];
  /** The order of each unit, null for an unsold one; no units where the rung has none. */
  readonly units: readonly (string | null)[];
}

/** A rung with a row per unit never writes the stock of the voucher: its units are the stock. */
function soldByUnit(units: InMysql['units']): Pick<Facts['mysql'], 'stock' | 'unitOrders'> | null {
  if (units.length === 0) return null;
  const unitOrders = units.filter((orderId) => orderId !== null);
  return { stock: units.length - unitOrders.length, unitOrders };
}

/** One snapshot, so that stock and orders belong together while orders are still being recorded. */
async function collectMysql(pool: Pool, voucherId: string): Promise<InMysql | undefined> {
  const db = await pool.getConnection();
  try {
    await db.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await db.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const [voucher] = await select<Omit<InMysql, 'orders' | 'units'>>(
      db,
      `SELECT v.created_at AS createdAt, v.rung, s.initial_stock AS initialStock, s.stock
       FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id WHERE v.id = ?`,
      [voucherId],
    );
    const orders = await select<OrderRow>(
      db,
      `SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId, status, reason,
              IF(request_id LIKE 'replay:%', SUBSTRING(request_id, 8), NULL) AS replayOf
       FROM orders WHERE voucher_id = ? ORDER BY id`,
      [voucherId],
    );
    const units = await select<{ orderId: string | null }>(
      db,
      'SELECT CAST(order_id AS CHAR) AS orderId FROM voucher_units WHERE voucher_id = ?',
      [voucherId],
    );
    await db.rollback();
    db.release();
    return voucher && { ...voucher, orders, units: units.map(({ orderId }) => orderId) };
  } catch (error) {
    db.destroy(); // Its snapshot may still be open: the next query on it would read the past.
    throw error;
  }
}

async function collectRedis(redis: Redis, sale: SalePlace) {
  const { saleKeys, voucherId, rung, buckets } = sale;
  const stock = rung.buckets
    ? (await stockOfBuckets(redis, saleKeys, voucherId, buckets)).stock
    : await remaining(redis, saleKeys, voucherId);
  // Lists of lists: `push(...buyers)` throws from 120,000 buyers on, each being an argument.
  const bought: [string, string][][] = [];
  const noted: [string, string][][] = [];
  for (const place of placesOf(sale)) {
    bought.push(await scanHash(redis, place.buyers(voucherId)));
    noted.push(await scanHash(redis, place.queued));
  }
  const orderOf = (value: string) => value.slice(0, value.indexOf(':'));
  const buyers = bought.flat().map(([userId, value]) => [userId, orderOf(value)]);
  const queued = noted.flat().filter(isOf(voucherId));
  const ids = new Set(queued.map(([id]) => id));
  return { stock, buyers: Object.fromEntries(buyers), queued: [...ids] };
}

const isOf =
  (voucherId: string) =>
  ([, note]: readonly [string, string]): boolean =>
    note.startsWith(`${voucherId}:`);
