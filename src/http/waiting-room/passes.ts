/**
 * A pass: the place of its user, until when it may be used, and a signature. An instance checks it
 * without a question to Redis. A user cannot make one, move it to another user or sale, or prolong
 * it.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Order } from '../../domain.ts';
import { hmacSha256 } from '../hmac-sha256.ts';

/** Who may use a pass, and for what. */
export type Bearer = Pick<Order, 'voucherId' | 'userId'>;

export interface Passes {
  sign(bearer: Bearer, place: number, untilMs: number): string;
  /** @returns null when it is no pass, is that of another purchase, or has lapsed. */
  placeOf(pass: string, bearer: Bearer): number | null;
}

const parts = /^(\d{1,15})\.(\d{1,15})\.([\w-]{43})$/;

/** @param secrets the first one signs; each is read, while the secret changes */
export function passes(secrets: readonly string[]): Passes {
  const keys = secrets.map(hmacSha256);
  const [sign = hmacSha256('')] = keys;
  return {
    sign: (bearer, place, untilMs) => {
      const text = textOf(bearer, String(place), String(untilMs));
      return `${place}.${untilMs}.${sign(text)}`;
    },
    placeOf: (pass, bearer) => {
      const [, place = '', untilMs = '', signature = ''] = parts.exec(pass) ?? [];
      const text = textOf(bearer, place, untilMs);
      const isSigned = signature !== '' && keys.some((key) => isSame(signature, key(text)));
      return isSigned && Date.now() < Number(untilMs) ? Number(place) : null;
    },
  };
}

/** It has colons, and what is signed of a token has none: neither can stand for the other. */
const textOf = ({ voucherId, userId }: Bearer, place: string, untilMs: string): string =>
  `pass:${voucherId}:${userId}:${place}:${untilMs}`;

/** In a time that does not tell where two signatures differ. */
const isSame = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
