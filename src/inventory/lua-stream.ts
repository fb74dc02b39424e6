/**
 * Idea. One Lua script checks the time window, the user and the stock, takes one from stock, and
 *   adds the order to a stream. It is one step, so a crash cannot stop it half-way. The client is
 *   answered `accepted`; workers record the stream in MySQL afterwards.
 * Holds while. Redis keeps every write that it acknowledged (append-only file, synced always).
 *   MySQL's rails refuse a second order of a user.
 * Breaks when. Redis loses acknowledged writes: the sale must stop until Redis is rebuilt from
 *   MySQL.
 * Source. The course notes' last chapter. Added here: declared keys, idempotency, and an order id
 *   that is made before the script runs.
 */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { type Order, type Outcome, refused } from '../domain.ts';
import type { Inventory } from './inventory.ts';
import { asOutcome, prepare, remaining } from './shared/claims.ts';

const purchase = loadScript('sale/purchase');

export function luaStream(redis: Redis, keys: SaleKeys): Inventory {
  async function sell({ id, voucherId, userId, requestId }: Order): Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const { voucher, buyers, orders, queued } = keys.of(voucherId);
    const touched = [voucher(voucherId), buyers(voucherId), orders, queued];
    try {
      const answer = await runScript(redis, purchase, touched, [id, voucherId, userId, requestId]);
      return asOutcome(purchase.name, answer);
    } catch (cause) {
      // The script may have run. A repeated request gets its answer.
      return { kind: 'unknown', orderId: id, cause };
    }
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: (voucherId) => remaining(redis, keys, voucherId),
  };
}
