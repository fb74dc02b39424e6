/** The application: what every request goes through, then the routes. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { requestId } from 'hono/request-id';
import { OrderIdUnavailable } from '../orders/ids/errors.ts';
import { labGate } from '../races/gate.ts';
import { auditRoutes } from './audit.ts';
import { healthRoutes } from './health.ts';
import { labRoutes } from './lab.ts';
import { orderRoutes } from './orders.ts';
import { problem } from './problems.ts';
import type { Service } from './service.ts';
import type { Identified } from './tokens.ts';
import { voucherRoutes } from './vouchers.ts';

export type App = OpenAPIHono<Identified>;

/** A group of routes: every input that does not fit its schema is answered 400, and changes nothing. */
export const routes = (): App =>
  new OpenAPIHono<Identified>({
    defaultHook: (result, c) => {
      if (result.success) return;
      const details = result.error.issues.map(
        ({ path, message }) => `${path.join('.') || 'body'}: ${message}`,
      );
      return problem(c, 'invalid-request', details.join('; '));
    },
  });

export function createApp(service: Service): App {
  const app = routes();
  const { LAB, LAB_ID, HISTORY_FOLDER } = service.connections.config;
  app.use(requestId(), async (c, next) => {
    c.header('X-Instance', service.instance);
    if (LAB_ID !== '') c.header('X-Lab-Id', LAB_ID);
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Cache-Control', 'no-store');
    await next();
  });
  // Without a history, as in a benchmark, nothing is in the way that production has not got.
  if (LAB && HISTORY_FOLDER !== '') app.use(labGate(service.connections, service.instance));
  app.route('/', healthRoutes(service));
  app.route('/', voucherRoutes(service));
  app.route('/', orderRoutes(service));
  app.route('/', auditRoutes(service));
  if (LAB) app.route('/', labRoutes(service));
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
  });
  app.doc31('/openapi.json', { openapi: '3.1.0', info: { title: 'Lockstep', version: '1' } });
  app.notFound((c) => problem(c, 'not-found'));
  app.onError((error, c) => {
    if (error instanceof HTTPException && error.status < 500)
      return problem(c, clientError(error.status), error.message);
    if (error instanceof OrderIdUnavailable) return problem(c, 'not-ready', error.message);
    service.log.error({ event: 'request-failed', requestId: c.get('requestId'), path: c.req.path, error });
    return problem(c, 'internal-error');
  });
  return app;
}

function clientError(status: number): 'unsupported-media-type' | 'body-too-large' | 'invalid-request' {
  if (status === 415) return 'unsupported-media-type';
  return status === 413 ? 'body-too-large' : 'invalid-request';
}
