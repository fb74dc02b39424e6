/**
 * Idea. The stock is the permits of a semaphore in Redis. A script takes a permit, then MySQL
 *   records the order. A sale that MySQL refuses releases its permit.
 * Holds while. The process lives from the permit to the commit, and Redis takes the release.
 * Breaks when. The process dies with a permit in hand, or the answer of Redis is lost: nobody
 *   releases the permit, and one is never sold.
 * Source. Redisson, RSemaphore (tryAcquire, release); its permits have no owner and no lease.
 */

import type { Redis } from 'ioredis';
import { change, type Pool } from '../connections/mysql.ts';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { serviceError } from '../errors.ts';
import type { Lease } from '../locks/lock.ts';
import { checkpoint, work } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { prepare, remaining, saleLost } from './shared/claims.ts';
import { insertOrder, sqlInventory } from './shared/sql-sale.ts';

const acquirePermit = loadScript('sale/acquire-permit');

export function redisSemaphoreStock(pool: Pool, redis: Redis, keys: SaleKeys): Inventory {
  const hash = (voucherId: string) => keys.of(voucherId).voucher(voucherId);

  const sql = sqlInventory(pool, async (db, order, voucher) => {
    await work(voucher);
    await change(db, 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    await insertOrder(db, order, voucher);
    return 'sold';
  });

  async function sell(order: Order, voucher: Voucher, lease: Lease): Promise<Outcome> {
    const answer = await runScript(redis, acquirePermit, [hash(voucher.id)], []);
    if (answer === 'unknown-voucher') return saleLost;
    if (answer === 'no-permit') return refused('sold-out');
    if (answer !== 'acquired')
      throw serviceError('SCRIPT_ANSWER_UNEXPECTED', acquirePermit.name, answer);
    await checkpoint('stock-taken');
    return withPermit(voucher, () => sql.sell(order, voucher, lease));
  }

  /** A sale that is unknown keeps its permit: it may have been recorded. */
  async function withPermit(
    { id }: Voucher,
    record: () => Outcome | Promise<Outcome>,
  ): Promise<Outcome> {
    let outcome: Outcome | undefined;
    try {
      outcome = await record();
      return outcome;
    } finally {
      const isUnsold = outcome === undefined || outcome.kind === 'refused';
      if (isUnsold) await redis.hincrby(hash(id), 'stock', 1);
    }
  }

  return {
    ...sql,
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: ({ id }) => remaining(redis, keys, id),
  };
}
