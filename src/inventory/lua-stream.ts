/**
 * Idea. One Lua script checks the window, the stock and the user, takes one, and puts the order into a stream: no step
 *   between them in which to fail. Workers record the stream in MySQL; the client hears "accepted" before that.
 * Holds while. Redis keeps what it acknowledged (append-only file, synced always); MySQL's rails catch what it forgets.
 * Breaks when. Redis loses acknowledged writes: the sale must then stop until it is rebuilt from MySQL.
 * Source. The course notes' last chapter, with their missing steps: declared keys, idempotency, the order id made before.
 */
import type { Connections } from '../connections/connections.ts';
import { saleKeys } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import { type Order, type Outcome, refused, type Voucher } from '../domain.ts';
import { ScriptAnswerUnexpected } from '../errors.ts';
import type { Inventory } from './inventory.ts';

const purchase = loadScript('purchase');
const prepareVoucher = loadScript('prepare-voucher');

export function open(connections: Connections): Inventory {
  const redis = connections.redis('purchase');

  async function prepare({ id, stock, beginTime, endTime }: Voucher): Promise<void> {
    const numbers = [stock, beginTime.getTime(), endTime.getTime()].map(String);
    await runScript(redis, prepareVoucher, [saleKeys.voucher(id)], numbers);
  }

  async function sell({ id, voucherId, userId, requestId }: Order): Promise<Outcome> {
    if (redis.status !== 'ready') return refused('not-ready'); // Nothing was sent.
    const keys = [saleKeys.voucher(voucherId), saleKeys.buyers(voucherId), saleKeys.orders, saleKeys.queued];
    try {
      return asOutcome(await runScript(redis, purchase, keys, [id, voucherId, userId, requestId]));
    } catch (cause) {
      return { kind: 'unknown', orderId: id, cause }; // It may have run; the same request again will tell.
    }
  }

  async function remaining(voucherId: string): Promise<number> {
    return Number((await redis.hget(saleKeys.voucher(voucherId), 'stock')) ?? 0);
  }

  return { clock: 'redis', prepare, sell, remaining };
}

function asOutcome(answer: unknown): Outcome {
  const [word, orderId] = answer as [string, string];
  switch (word) {
    case 'accepted':
      return { kind: 'accepted', orderId, status: 'queued' };
    case 'already-ordered':
      return refused('already-ordered', orderId);
    case 'sold-out':
    case 'not-started':
    case 'ended':
      return refused(word);
    case 'unknown-voucher':
      return refused('not-ready'); // MySQL knows the voucher and Redis does not: not sold out, and not for sale either.
    default:
      throw new ScriptAnswerUnexpected('purchase', answer);
  }
}
