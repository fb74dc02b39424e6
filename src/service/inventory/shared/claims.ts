/** Shared by the inventories in Redis: a voucher's hash, and the scripts' answers as outcomes. */

import type { Redis } from 'ioredis';
import type { SaleKeys, ShardKeys } from '../../connections/sale-keys.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import { type Outcome, refused, type Voucher } from '../../domain.ts';
import { serviceError } from '../../errors.ts';

const prepareVoucher = loadScript('sale/prepare-voucher');

/** @throws VOUCHER_ID_TAKEN */
export const prepare = (redis: Redis, keys: SaleKeys, voucher: Voucher): Promise<void> =>
  prepareIn(redis, keys.of(voucher.id), voucher);

/** In this shard, or in this bucket. @throws VOUCHER_ID_TAKEN */
export async function prepareIn(redis: Redis, shard: ShardKeys, voucher: Voucher): Promise<void> {
  const { id, stock, beginTime, endTime } = voucher;
  const numbers = [stock, beginTime.getTime(), endTime.getTime()].map(String);
  const { voucher: hash, buyers } = shard;
  const answer = await runScript(redis, prepareVoucher, [hash(id), buyers(id)], numbers);
  if (answer !== 'prepared') throw serviceError('VOUCHER_ID_TAKEN', id);
}

/**
 * MySQL has no voucher whose sale was not prepared, so Redis had the sale and lost it. Its stock is
 * not known: it is never prepared again.
 */
export const saleLost: Outcome = {
  kind: 'refused',
  reason: 'not-ready',
  detail: 'Redis has lost the sale of this voucher, and it cannot be continued.',
};

const beingRebuilt: Outcome = {
  kind: 'refused',
  reason: 'not-ready',
  detail: 'Redis is being rebuilt or has lost its data: nothing is sold until it is rebuilt.',
};

/** Nobody is told "sold out" on a guess. */
export const stockMoves: Outcome = {
  kind: 'refused',
  reason: 'not-ready',
  detail: 'Stock moves between the buckets of this voucher, or one does not answer. Try again.',
};

export const idInUse: Outcome = {
  kind: 'refused',
  reason: 'not-ready',
  detail: 'The id of this order belongs to another one. Try again with another id.',
};

/** Null when Redis does not have the voucher: that is not the same as sold out. */
export async function remaining(
  redis: Redis,
  keys: SaleKeys,
  voucherId: string,
): Promise<number | null> {
  const stock = await redis.hget(keys.of(voucherId).voucher(voucherId), 'stock');
  return stock === null ? null : Number(stock);
}

export const accepted = (orderId: string): Outcome => ({
  kind: 'accepted',
  status: 'queued',
  orderId,
});

/** @throws SCRIPT_ANSWER_UNEXPECTED */
export function asOutcome(script: string, answer: unknown): Outcome {
  const [word, orderId] = answer as [string, string];
  switch (word) {
    case 'accepted':
      return accepted(orderId);
    case 'already-ordered':
      return refused('already-ordered', orderId);
    case 'sold-out':
    case 'not-started':
    case 'ended':
    case 'sale-paused':
      return refused(word);
    case 'held':
      return stockMoves;
    case 'other-epoch':
      return beingRebuilt;
    case 'unknown-voucher':
      return saleLost;
    case 'id-in-use':
      return idInUse;
    default:
      throw serviceError('SCRIPT_ANSWER_UNEXPECTED', script, answer);
  }
}
