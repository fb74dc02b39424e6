/**
 * Ids at the edge: one canonical decimal string, 1 to 2^63-1. Redis and MySQL disagree about "7", "007" and " 7", so
 * none of the others gets past here.
 */
import { z } from '@hono/zod-openapi';

/** Of 19 digits; shorter ones are smaller, and equally long digits compare like numbers. */
const largest = '9223372036854775807';

export const Id = z
  .string()
  .regex(/^[1-9][0-9]{0,18}$/, 'must be a decimal id without sign, spaces or leading zeros')
  .refine((id) => id.length < 19 || id <= largest, 'must be at most 9223372036854775807')
  .openapi({ type: 'string', pattern: '^[1-9][0-9]{0,18}$', example: '7' });
