/** Shared by the inventories in Redis: a voucher's hash, and the scripts' answers as outcomes. */
import type { Redis } from 'ioredis';
import type { SaleKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { type Outcome, refused, type Voucher } from '../../domain.ts';
import { ScriptAnswerUnexpected } from '../../errors.ts';

const prepareVoucher = loadScript('sale/prepare-voucher');

export async function prepare(redis: Redis, keys: SaleKeys, voucher: Voucher): Promise<void> {
  const { id, stock, beginTime, endTime } = voucher;
  const numbers = [stock, beginTime.getTime(), endTime.getTime()].map(String);
  await runScript(redis, prepareVoucher, [keys.of(id).voucher(id)], numbers);
}

/** Null when Redis does not have the voucher: that is not the same as sold out. */
export async function remaining(
  redis: Redis,
  keys: SaleKeys,
  voucherId: string,
): Promise<number | null> {
  const stock = await redis.hget(keys.of(voucherId).voucher(voucherId), 'stock');
  return stock === null ? null : Number(stock);
}

/** @throws ScriptAnswerUnexpected */
export function asOutcome(script: string, answer: unknown): Outcome {
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
      return refused('not-ready'); // MySQL has the voucher, but Redis does not have its stock.
    default:
      throw new ScriptAnswerUnexpected(script, answer);
  }
}
