/**
 * The names of requests. One that brings none gets one: unique over all processes and restarts. A
 * counter is short: Redis keeps the name of one request for each buyer.
 */
import { createHash, randomBytes } from 'node:crypto';

const pattern = /^[A-Za-z0-9_-]{1,64}$/;

export const isRequestId = (text: string): boolean => pattern.test(text);

/** Visible ASCII, with or without the quotes of the standard: "key" and key are the same key. */
export const idempotencyKeyPattern = '^(?:"[!#-[\\]-~]{1,255}"|[!#-[\\]-~]{1,255})$';
const keyPattern = new RegExp(idempotencyKeyPattern);

/**
 * The name of the request with this `Idempotency-Key`; null when it is none. Of a long key, and of
 * one with other characters, it is the SHA-256: a key takes no more room in Redis than a name.
 */
export function requestIdOfKey(key: string): string | null {
  if (isRequestId(key)) return key;
  if (!keyPattern.test(key)) return null;
  const unquoted = key.replaceAll('"', '');
  return isRequestId(unquoted)
    ? unquoted
    : createHash('sha256').update(unquoted).digest('base64url');
}

/** 72 random bits: no other process, and no earlier one, has the same. */
const ownPart = randomBytes(9).toString('base64url');
let made = 0;

export const newRequestId = (): string => `${ownPart}-${(++made).toString(36)}`;
