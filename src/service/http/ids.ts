/**
 * Ids in requests: one canonical decimal string, from 1 to 2^63-1. "7", "007" and " 7" are one id
 * for MySQL and three for Redis, so only the first form is accepted.
 */

import { createHash, randomBytes } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import { isId } from '../domain.ts';

const schema = { type: 'string', pattern: '^[1-9][0-9]{0,18}$', example: '7' } as const;
const form = 'must be a decimal id from 1 to 9223372036854775807, without spaces or leading zeros';

export const Id = z.string().refine(isId, form).openapi(schema);

/** The id in the path of a purchase, which checks it itself: a validator costs more than that. */
export const idInPath = { name: 'id', in: 'path', required: true, schema } as const;
export const notAnId = `id: ${form}`;

/** The name of a request. */
export const isRequestId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

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

/**
 * For a request that brings no name: unique over all processes and restarts. A counter is short:
 * Redis keeps the name of one request for each buyer.
 */
export const newRequestId = (): string => `${ownPart}-${(++made).toString(36)}`;
