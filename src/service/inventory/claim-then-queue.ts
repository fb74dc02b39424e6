/**
 * Idea. A Lua script checks the sale and takes one from stock for the user (the claim). Then the
 *   instance publishes the order to a queue.
 * Holds while. The process lives from the claim to the end of the publish, and the queue keeps
 *   every order that it accepted. A full queue refuses before the claim, or the claim is undone.
 * Breaks when. The process dies between the claim and the publish: stock and user are used up, and
 *   no queue has the order. Also when the queue loses an order; and when a repeated request
 *   publishes the order that the first request is giving back.
 * Source. The course notes' asynchronous sale: a Lua script for the checks, then a queue.
 */

import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { refusesWrites } from '../connections/store-errors.ts';
import { type Order, type Outcome, refused } from '../domain.ts';
import { isServiceError } from '../errors.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { checkpoint } from '../trace/checkpoints.ts';
import type { Inventory } from './inventory.ts';
import { asOutcome, prepare, remaining } from './shared/claims.ts';

const claim = loadScript('sale/claim');
const unclaim = loadScript('sale/unclaim');

export function claimThenQueue(redis: Redis, keys: SaleKeys, queue: OrderQueue): Inventory {
  const touched = ({ voucherId }: Order) => {
    const { voucher, buyers } = keys.of(voucherId);
    return [voucher(voucherId), buyers(voucherId)];
  };

  async function sell(order: Order): Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const place = await queue.reserve?.();
    if (typeof place === 'string') return refused(place);
    try {
      return await claimAndPublish(order);
    } catch (cause) {
      // It may have been claimed or published.
      return { kind: 'unknown', orderId: order.id, cause };
    } finally {
      place?.();
    }
  }

  async function claimFor(order: Order): Promise<Outcome> {
    const { id, userId, requestId } = order;
    try {
      return asOutcome(
        claim.name,
        await runScript(redis, claim, touched(order), [id, userId, requestId]),
      );
    } catch (error) {
      if (refusesWrites(error)) return refused('not-ready');
      throw error;
    }
  }

  async function claimAndPublish(order: Order): Promise<Outcome> {
    const { id, userId } = order;
    const outcome = await claimFor(order);
    if (outcome.kind !== 'accepted') return outcome;
    await checkpoint('claimed');
    try {
      // A repeated request publishes its order again; the worker records each order id once.
      await queue.publish({ ...order, id: outcome.orderId });
    } catch (error) {
      const isNotQueued =
        isServiceError(error, 'ORDER_NOT_QUEUED', 'QUEUE_FULL') || refusesWrites(error);
      // The claim of a repeated request belongs to the first one, whose order may be queued.
      if (!isNotQueued || outcome.orderId !== id) throw error;
      await runScript(redis, unclaim, touched(order), [id, userId]);
      return refused(isServiceError(error, 'QUEUE_FULL') ? 'queue-full' : 'not-ready');
    }
    await checkpoint('published');
    return outcome;
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: ({ id }) => remaining(redis, keys, id),
  };
}
