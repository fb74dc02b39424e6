/**
 * An instance that is not ready may be the only one: its link to Redis is cut. What it refuses
 * without having done anything, nginx asks of the next instance.
 */
import type { HonoRequest } from 'hono';

/** A place of nginx's configuration. */
const another = { 'X-Accel-Redirect': '@another' };

/** The next instance in turn can be the same one again, since other requests take turns too. */
const mostRefusals = 5;

/**
 * The headers of a refusal that did nothing. nginx names the instances that have refused before;
 * without its header, there is no such nginx. When two have refused, the store is away.
 */
export function askAnother(request: HonoRequest): Readonly<Record<string, string>> {
  const [isAsked, ...refusedBy] = request.header('x-refused-by')?.split(' ') ?? [];
  if (isAsked === undefined || !isRepeatable(request)) return {};
  const isStoreAway = new Set(refusedBy).size > 1 || refusedBy.length >= mostRefusals;
  return isStoreAway ? {} : another;
}

/** A change of a sale may be half done. A purchase that is not ready has sold nothing. */
const isRepeatable = ({ method, path }: HonoRequest): boolean =>
  method === 'GET' || (method === 'POST' && path.endsWith('/orders'));
