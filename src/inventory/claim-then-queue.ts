/**
 * Idea. A Lua script checks the sale and takes one from stock for the user (the claim). Then the
 *   instance publishes the order to a queue.
 * Holds while. The process lives from the claim to the end of the publish, and the queue keeps
 *   every order that it accepted.
 * Breaks when. The process dies between the claim and the publish: stock and user are used up, and
 *   no queue has the order. Also when the queue loses an order.
 * Source. The course notes' asynchronous sale: a Lua script for the checks, then a queue.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { type Order, type Outcome, refused } from '../domain.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { asOutcome, prepare, remaining } from './shared/claims.ts';

const claim = loadScript('sale/claim');

export function claimThenQueue(redis: Redis, keys: SaleKeys, queue: OrderQueue): Inventory {
  async function sell(order: Order): Promise<Outcome> {
    const { id, voucherId, userId, requestId } = order;
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const { voucher, buyers } = keys.of(voucherId);
    try {
      const touched = [voucher(voucherId), buyers(voucherId)];
      const outcome = asOutcome(
        claim.name,
        await runScript(redis, claim, touched, [id, userId, requestId]),
      );
      if (outcome.kind !== 'accepted') return outcome;
      await checkpoint('claimed');
      // A repeated request publishes its order again; the worker records each order id once.
      await queue.publish({ ...order, id: outcome.orderId });
      return outcome;
    } catch (cause) {
      return { kind: 'unknown', orderId: id, cause }; // It may have been claimed or published.
    }
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: (voucherId) => remaining(redis, keys, voucherId),
  };
}
