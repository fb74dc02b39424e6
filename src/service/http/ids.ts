/**
 * Ids in requests: one canonical decimal string, from 1 to 2^63-1. "7", "007" and " 7" are one id
 * for MySQL and three for Redis, so only the first form is accepted.
 */
import { z } from '@hono/zod-openapi';
import { isId } from '../domain.ts';

const schema = { type: 'string', pattern: '^[1-9][0-9]{0,18}$', example: '7' } as const;
const form = 'must be a decimal id from 1 to 9223372036854775807, without spaces or leading zeros';

export const Id = z.string().refine(isId, form).openapi(schema);

/** The id in the path of a purchase, which checks it itself: a validator costs more than that. */
export const idInPath = { name: 'id', in: 'path', required: true, schema } as const;
export const notAnId = `id: ${form}`;
