/**
 * Reads the facts of one voucher from MySQL and Redis: with read-history.ts the only input of this
 * folder.
 */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { type Pool, select } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { scanHash } from '../connections/scan-hash.ts';
import { rungNamed } from '../ladder/rungs.ts';
import type { Facts, OrderRow } from './facts.ts';

/** @returns null when there is no such voucher. */
export async function collectFacts(
  connections: Connections,
  voucherId: string,
): Promise<Facts | null> {
  const redis = connections.redis('admin');
  // Redis first: an order that leaves its queue in the meantime is in MySQL by the time that is
  // read.
  const before = await counts(redis, connections.saleKeys, voucherId);
  const inRedis = await collectRedis(redis, connections.saleKeys, voucherId);
  const inMysql = await collectMysql(connections.mysql(), voucherId);
  const after = await counts(redis, connections.saleKeys, voucherId);
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

/**
 * Stock, number of buyers and number of queued orders in one moment; a change between two of them
 * is a running sale.
 */
async function counts(redis: Redis, keys: SaleKeys, voucherId: string): Promise<string> {
  const { voucher, buyers, queued } = keys.of(voucherId);
  const moment = redis.multi().hget(voucher(voucherId), 'stock').hlen(buyers(voucherId));
  const results = (await moment.hlen(queued).exec()) ?? [];
  return JSON.stringify(results.map(([, value]) => value));
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

async function collectRedis(redis: Redis, keys: SaleKeys, voucherId: string) {
  const { voucher, buyers, queued } = keys.of(voucherId);
  const stock = await redis.hget(voucher(voucherId), 'stock');
  const orderOf = (value: string) => value.slice(0, value.indexOf(':'));
  const bought = await scanHash(redis, buyers(voucherId));
  const waiting = await scanHash(redis, queued);
  return {
    stock: stock === null ? null : Number(stock),
    buyers: Object.fromEntries(bought.map(([userId, value]) => [userId, orderOf(value)])),
    queued: waiting.filter(([, value]) => value.startsWith(`${voucherId}:`)).map(([id]) => id),
  };
}
