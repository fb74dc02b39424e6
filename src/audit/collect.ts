/** Reads the facts of one voucher from MySQL and Redis: the only input and output in this folder. */
import type { Redis } from 'ioredis';
import { type Pool, select } from '../connections/mysql.ts';
import { saleKeys } from '../connections/sale-keys.ts';
import { rungNamed } from '../ladder.ts';
import type { Facts, OrderRow } from './facts.ts';

/** @returns null when there is no such voucher. */
export async function collectFacts(pool: Pool, redis: Redis, voucherId: string): Promise<Facts | null> {
  // Redis first: what leaves its queue in the meantime is in MySQL by the time that is read.
  const inRedis = await collectRedis(redis, voucherId);
  const inMysql = await collectMysql(pool, voucherId);
  if (!inMysql) return null;
  const { rung, initialStock, stock, orders } = inMysql;
  const createdAt = inMysql.createdAt.toISOString();
  const row = rungNamed(rung);
  const facts = {
    voucherId,
    createdAt,
    rung,
    onePerUser: row.onePerUser,
    locked: row.locked,
    initialStock,
    mysql: { stock, orders },
  };
  return row.queue ? { ...facts, redis: inRedis } : facts;
}

/** One snapshot, so that stock and orders belong together while orders are still being recorded. */
async function collectMysql(pool: Pool, voucherId: string) {
  const db = await pool.getConnection();
  try {
    await db.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await db.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
    const [voucher] = await select<{ createdAt: Date; rung: string; initialStock: number; stock: number }>(
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

async function collectRedis(redis: Redis, voucherId: string) {
  const [stock, buyers, queued] = await Promise.all([
    redis.hget(saleKeys.voucher(voucherId), 'stock'),
    redis.hgetall(saleKeys.buyers(voucherId)),
    redis.hgetall(saleKeys.queued),
  ]);
  const orderOf = (value: string) => value.slice(0, value.indexOf(':'));
  return {
    stock: stock === null ? null : Number(stock),
    buyers: Object.fromEntries(Object.entries(buyers).map(([userId, value]) => [userId, orderOf(value)])),
    queued: Object.keys(queued).filter((id) => queued[id]?.startsWith(`${voucherId}:`)),
  };
}
