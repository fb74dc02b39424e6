/**
 * Ids in requests: one canonical decimal string, from 1 to 2^63-1. "7", "007" and " 7" are one id
 * for MySQL and three for Redis, so only the first form is accepted.
 */
import { z } from '@hono/zod-openapi';
import { isId } from '../domain.ts';

export const Id = z
  .string()
  .regex(/^[1-9][0-9]{0,18}$/, 'must be a decimal id without sign, spaces or leading zeros')
  .refine(isId, 'must be at most 9223372036854775807')
  .openapi({ type: 'string', pattern: '^[1-9][0-9]{0,18}$', example: '7' });
