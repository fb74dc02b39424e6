/**
 * Every request must name the host of this lab, and every command must come from this page. To a
 * browser, all ports of 127.0.0.1 are one site: so another page that is open there must be refused.
 */
import type { Context, MiddlewareHandler } from 'hono';

/** Scripts, styles and requests of this server only. No page may frame this one. */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @returns why a request is refused; null for one of this page */
function refusal(c: Context, host: string): [status: 403 | 421, code: string] | null {
  if (c.req.header('host') !== host) return [421, 'another-host'];
  const origin = c.req.header('origin');
  const isCommand = !['GET', 'HEAD'].includes(c.req.method);
  if (isCommand ? origin !== `http://${host}` : origin && origin !== `http://${host}`)
    return [403, 'another-origin'];
  const site = c.req.header('sec-fetch-site') ?? 'none';
  const isNavigation = c.req.header('sec-fetch-mode') === 'navigate' && !isCommand;
  return isNavigation || ['same-origin', 'none'].includes(site) ? null : [403, 'another-site'];
}

export const sameOrigin =
  (host: string): MiddlewareHandler =>
  async (c, next) => {
    const refused = refusal(c, host);
    if (refused) return c.json({ code: refused[1], title: 'Not from this page' }, refused[0]);
    await next();
    c.header('content-security-policy', policy);
    c.header('x-content-type-options', 'nosniff');
    c.header('referrer-policy', 'no-referrer');
    c.header('cross-origin-opener-policy', 'same-origin');
    c.header('cross-origin-resource-policy', 'same-origin');
  };
