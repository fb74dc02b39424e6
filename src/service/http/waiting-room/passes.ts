/**
 * A pass: until when it may be used, and a signature of that, its user and its voucher. An instance
 * checks it without a question to Redis. A user cannot make one, give it away, or prolong it.
 */
import type { Order } from '../../domain.ts';
import { hmacSha256, isSameCode } from '../hmac-sha256.ts';

/** Who may use a pass, and for what. */
export type Bearer = Pick<Order, 'voucherId' | 'userId'>;

export interface Passes {
  sign(bearer: Bearer, untilMs: number): string;
  /** Whether it is a pass of this user for this voucher, and has not lapsed. */
  isPass(pass: string, bearer: Bearer): boolean;
}

/** The clocks of Redis, which ends a pass, and of the instance may differ by so much. */
const clocksMs = 5_000;
const parts = /^(\d{1,15})\.([\w-]{43})$/;

/** @param secrets the first one signs; each is read */
export function passes(secrets: readonly string[]): Passes {
  const keys = secrets.map(hmacSha256);
  const [sign = hmacSha256('')] = keys;
  return {
    sign: (bearer, untilMs) => `${untilMs}.${sign(textOf(bearer, String(untilMs)))}`,
    isPass: (pass, bearer) => {
      const [, untilMs = '', signature = ''] = parts.exec(pass) ?? [];
      if (signature === '' || Date.now() >= Number(untilMs) + clocksMs) return false;
      const text = textOf(bearer, untilMs);
      return keys.some((key) => isSameCode(signature, key(text)));
    },
  };
}

/** It has colons, and what is signed of a token has none: neither can stand for the other. */
const textOf = ({ voucherId, userId }: Bearer, untilMs: string): string =>
  `pass:${voucherId}:${userId}:${untilMs}`;
