/**
 * The user of a request comes from a signed bearer token (HS256), never from a body or a query.
 * hono/jwt signs and verifies it.
 */
import type { MiddlewareHandler } from 'hono';
import { sign, verify } from 'hono/jwt';
import { z } from 'zod';
import { Id } from './ids.ts';
import { problem } from './problems.ts';

const Claims = z.object({
  sub: Id,
  role: z.enum(['user', 'operator']).default('user'),
  exp: z.number(),
});
export type Claims = z.output<typeof Claims>;

export type Identified = { Variables: { claims: Claims } };

/** Answers 401 without a valid token, and 403 with the wrong role. */
export function requireRole(role: Claims['role'], secret: string): MiddlewareHandler<Identified> {
  return async (c, next) => {
    const claims = await claimsOf(c.req.header('authorization'), secret);
    if (!claims) return problem(c, 'unauthenticated');
    if (claims.role !== role)
      return problem(c, 'forbidden', `This request needs the role "${role}".`);
    c.set('claims', claims);
    return next();
  };
}

/** Null without a valid token. */
export async function claimsOf(header: string | undefined, secret: string): Promise<Claims | null> {
  const token = /^Bearer ([\w.-]+)$/i.exec(header ?? '')?.[1];
  if (token === undefined) return null;
  const payload = await verify(token, secret, 'HS256').catch(() => null);
  return Claims.safeParse(payload).data ?? null;
}

/** Signs the tokens of the lab. A deployment uses its own token issuer, with the same secret. */
export const signToken = (
  secret: string,
  sub: string,
  role: Claims['role'],
  ttlSeconds = 3_600,
): Promise<string> =>
  sign({ sub, role, exp: Math.floor(Date.now() / 1_000) + ttlSeconds }, secret, 'HS256');
