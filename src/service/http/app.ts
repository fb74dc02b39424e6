/** The application: the middleware that every request passes, then the routes. */

import type { Context, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { HTTPException } from 'hono/http-exception';
import type { Logger } from 'pino';
import { isContention } from '../connections/mysql.ts';
import { isStoreUnavailable } from '../connections/store-errors.ts';
import { isServiceError, noOrderIdCodes } from '../errors.ts';
import { type HeaderTexts, requestIdOf } from './headers.ts';
import { type App, routes } from './openapi.ts';
import { problem } from './problems.ts';
import { auditRoutes } from './routes/audit.ts';
import { healthRoutes } from './routes/health.ts';
import { orderEventRoutes } from './routes/order-events.ts';
import { orderRoutes } from './routes/orders.ts';
import { voucherChangeRoutes } from './routes/voucher-changes.ts';
import { voucherRoutes } from './routes/vouchers.ts';
import { waitingRoomRoutes } from './routes/waiting-room.ts';
import type { Service } from './service.ts';
import type { WithClaims } from './tokens.ts';

/** What a process adds to the service, for example the lab. */
export interface Extensions {
  /** Of every answer. */
  readonly headers: HeaderTexts;
  readonly middleware: readonly MiddlewareHandler<WithClaims>[];
  readonly routes: readonly App[];
}

const about = {
  openapi: '3.1.0',
  info: {
    title: 'Lockstep',
    version: '1',
    description: 'A flash sale of vouchers: one order per user, and never more than there is.',
    contact: { name: 'The operator of this service' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'The service that gave this document' }],
  tags: [
    { name: 'vouchers', description: 'What is on sale' },
    { name: 'orders', description: 'Purchases, and what became of them' },
    { name: 'health', description: 'For the balancer' },
  ],
};

/** The document of a deployment does not name them. */
const labTag = { name: 'lab', description: 'Faults and measurements' };

const none: Extensions = { headers: {}, middleware: [], routes: [] };

export function createApp(service: Service, extensions: Extensions = none): App {
  const app = routes();
  const { config } = service.connections;
  if (config.CORS_ORIGINS.length > 0) app.use(forOrigins(config.CORS_ORIGINS));
  for (const middleware of extensions.middleware) app.use(middleware);
  app.route('/', healthRoutes(service));
  app.route('/', voucherRoutes(service));
  app.route('/', voucherChangeRoutes(service));
  app.route('/', waitingRoomRoutes(service));
  app.route('/', orderRoutes(service));
  app.route('/', orderEventRoutes(service));
  app.route('/', auditRoutes(service));
  for (const group of extensions.routes) app.route('/', group);
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
  });
  let document: object | undefined; // Made for the first request: it takes some milliseconds.
  app.get('/openapi.json', (c) => {
    document ??= apiDescription(app, config.LAB);
    return c.json(document);
  });
  app.notFound((c) => {
    const methods = allowedMethods(app, c.req.path);
    if (methods.length === 0) return problem(c, 'not-found');
    c.header('Allow', methods.join(', '));
    return problem(c, 'method-not-allowed');
  });
  app.onError((error, c) => failure(c, error, service.log));
  return app;
}

function failure(c: Context, error: Error, log: Logger): Response {
  if (error instanceof HTTPException && error.status < 500)
    return problem(c, clientError(error.status), error.message);
  if (isServiceError(error, ...noOrderIdCodes)) return problem(c, 'not-ready', error.message);
  if (isServiceError(error, 'TOKEN_KEYS_UNAVAILABLE'))
    return problem(c, 'not-ready', 'No token can be checked at the moment.');
  if (isContention(error)) return problem(c, 'database-busy'); // MySQL has rolled it back.
  if (isStoreUnavailable(error)) {
    // An inventory throws only when nothing can have been sold.
    log.warn({ event: 'store-unavailable', path: c.req.path, error: String(error) });
    return problem(c, 'not-ready', 'A store does not answer, or takes no writes.');
  }
  log.error({
    event: 'request-failed',
    requestId: requestIdOf(c),
    path: c.req.path,
    error,
  });
  return problem(c, 'internal-error');
}

/** What a page of another origin may send, and read. */
const forOrigins = (origins: readonly string[]): MiddlewareHandler =>
  cors({
    origin: [...origins],
    allowMethods: ['GET', 'POST', 'PATCH'],
    exposeHeaders: [
      'Location',
      'Link',
      'Retry-After',
      'RateLimit',
      'Idempotency-Key',
      'X-Request-Id',
    ],
    maxAge: 600,
  });

/** As OpenAPI 3.1. @param isLab with the tag of the routes that only the lab has */
export const apiDescription = (app: App, isLab: boolean) =>
  app.getOpenAPI31Document({ ...about, tags: [...about.tags, ...(isLab ? [labTag] : [])] });

function clientError(
  status: number,
): 'unsupported-media-type' | 'body-too-large' | 'invalid-request' {
  if (status === 415) return 'unsupported-media-type';
  return status === 413 ? 'body-too-large' : 'invalid-request';
}

/** For the `Allow` of an answer 405. Empty when the application has no such path. */
function allowedMethods(app: App, path: string): string[] {
  const methods = app.routes
    .filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path))
    .map(({ method }) => method);
  if (methods.includes('GET')) methods.push('HEAD');
  return [...new Set(methods)].sort();
}

/** `/orders/:id` matches `/orders/7`. */
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:[^/]+/g, '[^/]+')}$`);
