/** The answers to purchases that are not begun; nearly all are counted. */
import type { Context } from 'hono';
import { countTurnedAway, type TurnedAway } from '../../metrics/purchases.ts';
import type { Vouchers } from '../../purchase/vouchers.ts';
import { problem } from '../problems.ts';
import type { Service } from '../service.ts';

/** Headers: draft-ietf-httpapi-ratelimit-headers. */
export function tooManyTries(c: Context, tries: number, ms: number) {
  c.header('RateLimit-Policy', `"user";q=${tries};w=1`);
  c.header('RateLimit', `"user";r=0;t=${Math.ceil(ms / 1_000)}`);
  return turnedAway(c, 'too-many-requests');
}

export function turnedAway<Code extends TurnedAway>(c: Context, code: Code, detail?: string) {
  countTurnedAway(code);
  return problem(c, code, detail);
}

/** As MySQL has it within the last second: an operator may have closed the sale. */
export async function isSaleOver(vouchers: Vouchers, voucherId: string): Promise<boolean> {
  const voucher = await vouchers.look(voucherId);
  return voucher !== undefined && voucher.endTime.getTime() <= Date.now();
}

/** Of a voucher with a waiting room: Redis does not have its sale, which is over or lost. */
export async function stockUnknown(c: Context, { vouchers }: Service, voucherId: string) {
  if (await isSaleOver(vouchers, voucherId)) return problem(c, 'ended');
  return problem(c, 'not-ready', 'The stock of the sale is not known.');
}
