/**
 * Ids at the edge: one canonical decimal string, 1 to 2^63-1. Redis and MySQL disagree about "7", "007" and " 7", so
 * none of the others gets past here.
 */
import { z } from '@hono/zod-openapi';

const largest = (1n << 63n) - 1n;

export const Id = z
  .string()
  .regex(/^[1-9][0-9]{0,18}$/, 'must be a decimal id without sign, spaces or leading zeros')
  .refine((id) => !/^[0-9]+$/.test(id) || BigInt(id) <= largest, 'must be at most 9223372036854775807')
  .openapi({ type: 'string', pattern: '^[1-9][0-9]{0,18}$', example: '7' });
