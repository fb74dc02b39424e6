/** Reads the facts of one voucher from MySQL and Redis: with read-history.ts the only input of this folder. */
import type { Redis } from 'ioredis';
import type { Connections } from '../connections/connections.ts';
import { type Pool, select } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { rungNamed } from '../ladder/rungs.ts';
import type { Facts, OrderRow } from './facts.ts';

/** @returns null when there is no such voucher. */
export async function collectFacts(
  connections: Connections,
  voucherId: string,
): Promise<Facts | null> {
  // Redis first: an order that leaves its queue in the meantime is in MySQL by the time that is read.
  const inRedis = await collectRedis(connections.redis('admin'), connections.saleKeys, voucherId);
  const inMysql = await collectMysql(connections.mysql(), voucherId);
  if (!inMysql) return null;
  const { rung, initialStock, stock, orders } = inMysql;
  const { onePerUser, lock, queue } = rungNamed(rung);
  const facts = {
    ...{ voucherId, rung, onePerUser, initialStock },
    createdAt: inMysql.createdAt.toISOString(),
    locked: lock !== undefined,
    mysql: { stock, orders },
  };
  return queue ? { ...facts, redis: inRedis } : facts;
}

/** One snapshot, so that stock and orders belong together while orders are still being recorded. */
async function collectMysql(pool: Pool, voucherId: string) {
  const db = await pool.getConnection();
  try {
    await db.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await db.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const [voucher] = await select<{
      createdAt: Date;
      rung: string;
      initialStock: number;
      stock: number;
    }>(
      db,
      `SELECT v.created_at AS createdAt, v.rung, s.initial_stock AS initialStock, s.stock
       FROM vouchers v JOIN seckill_stock s ON s.voucher_id = v.id WHERE v.id = ?`,
      [voucherId],
    );
    const orders = await select<OrderRow>(
      db,
      `SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId, status, reason
       FROM orders WHERE voucher_id = ? ORDER BY id`,
      [voucherId],
    );
    await db.rollback();
    return voucher && { ...voucher, orders };
  } finally {
    db.release();
  }
}

async function collectRedis(redis: Redis, keys: SaleKeys, voucherId: string) {
  const shard = keys.of(voucherId);
  const [stock, buyers, queued] = await Promise.all([
    redis.hget(shard.voucher(voucherId), 'stock'),
    redis.hgetall(shard.buyers(voucherId)),
    redis.hgetall(shard.queued),
  ]);
  const orderOf = (value: string) => value.slice(0, value.indexOf(':'));
  return {
    stock: stock === null ? null : Number(stock),
    buyers: Object.fromEntries(
      Object.entries(buyers).map(([userId, value]) => [userId, orderOf(value)]),
    ),
    queued: Object.keys(queued).filter((id) => queued[id]?.startsWith(`${voucherId}:`)),
  };
}
