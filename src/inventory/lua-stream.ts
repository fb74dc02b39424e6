/**
 * Idea. One Lua script checks the window, the stock and the user, takes one, and puts the order into a stream: there is no
 *   gap in which to fail. Workers record the stream in MySQL; the client is answered "accepted" before that.
 * Holds while. Redis keeps what it acknowledged (append-only file, synced always); MySQL's rails catch what it forgets.
 * Breaks when. Redis loses acknowledged writes: the sale must then stop until Redis is rebuilt from MySQL.
 * Source. The course notes' last chapter, with their missing steps: declared keys, idempotency, the order id made before.
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
      return { kind: 'unknown', orderId: id, cause }; // It may have run; a repeated request gets the answer.
    }
  }

  return {
    clock: 'redis',
    prepare: (voucher) => prepare(redis, keys, voucher),
    sell,
    remaining: (voucherId) => remaining(redis, keys, voucherId),
  };
}
