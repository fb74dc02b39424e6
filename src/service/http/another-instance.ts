/**
 * An instance may be cut off from Redis alone. For a purchase that it could not send, it asks nginx
 * for the next instance.
 */
import type { Context } from 'hono';

/** The next instance in turn can be the same one again, since other requests take turns too. */
const refusalsMax = 4;

/**
 * Before a refusal of a purchase that changed nothing. nginx names the instances that have refused
 * it before; without its header, there is no such nginx. When two refuse, Redis is away.
 * @param own this instance
 */
export function askAnother(c: Context, own: string): void {
  const [isAsked, ...refusedBy] = c.req.header('x-refused-by')?.split(' ') ?? [];
  const isRedisAway = new Set([...refusedBy, own]).size > 1 || refusedBy.length >= refusalsMax;
  if (isAsked !== undefined && !isRedisAway) c.header('X-Accel-Redirect', '@another');
}
