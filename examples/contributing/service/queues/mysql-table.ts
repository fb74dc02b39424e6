/**
 * Idea. A table in MySQL: INSERT publishes an order. A worker locks rows, records and deletes them.
 * Holds while. MySQL keeps what it committed. A dead worker's connection unlocks its rows.
 * Breaks when. The process dies after it took an order from stock and before the INSERT.
 * Source. MySQL, "Locking Reads": SELECT … FOR UPDATE SKIP LOCKED.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import {
  change,
  type Pool,
  type PoolConnection,
  select,
  transaction,
} from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import type { Order } from '../domain.ts';
import type { Handle, OrderQueue } from './order-queue.ts';

const batchSize = 100;
const pauseMs = 50;

interface Row {
  readonly id: string;
  readonly text: string;
  readonly attempt: number;
}

export function mysqlTableQueue(pool: Pool, redis: Redis, keys: SaleKeys): OrderQueue {
  async function publish(order: Order): Promise<void> {
    const { id, voucherId, userId } = order;
    await redis.hset(keys.of(voucherId).queued, id, `${voucherId}:${userId}`);
    await change(pool, 'INSERT INTO order_queue (text) VALUES (?)', [JSON.stringify(order)]);
  }

  async function settle(db: PoolConnection, { id }: Row, order: Order): Promise<void> {
    await change(db, 'DELETE FROM order_queue WHERE id = ?', [id]);
    await redis.hdel(keys.of(order.voucherId).queued, order.id);
  }

  /** @returns how many orders were delivered. */
  async function deliver(db: PoolConnection, handle: Handle): Promise<number> {
    const rows = await select<Row>(
      db,
      `SELECT id, text, attempt FROM order_queue ORDER BY id LIMIT ${batchSize}
       FOR UPDATE SKIP LOCKED`,
    );
    const deliveries = rows.map(({ text, attempt }) => ({
      order: JSON.parse(text) as Order,
      attempt,
    }));
    if (rows.length === 0) return 0;
    const settled = await handle(deliveries);
    for (const [index, row] of rows.entries()) {
      const order = deliveries[index]?.order;
      if (order && settled.has(order.id)) await settle(db, row, order);
      else await change(db, 'UPDATE order_queue SET attempt = attempt + 1 WHERE id = ?', [row.id]);
    }
    return rows.length;
  }

  async function consume(handle: Handle, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = transaction(pool, 'READ COMMITTED', (db) => deliver(db, handle));
      const count = await batch.catch(() => 0); // The rows are unlocked and delivered again.
      if (count === 0) await sleep(pauseMs);
    }
  }

  async function depth(): Promise<number> {
    const [row] = await select<{ depth: number }>(
      pool,
      'SELECT COUNT(*) AS depth FROM order_queue',
    );
    return Number(row?.depth ?? 0);
  }

  return { publish, consume, depth };
}
