/** Routes that exist only in the lab. */
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from './app.ts';
import { jsonAnswer, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

export function labRoutes({ connections }: Service): App {
  const noop = createRoute({
    method: 'post',
    path: '/lab/noop',
    description:
      'A purchase without the purchase: what nginx, the token and the routing cost. For the benchmark.',
    security: [{ token: [] }],
    middleware: requireRole('user', connections.config.TOKEN_SECRET),
    responses: {
      202: jsonAnswer(z.object({ id: z.string(), status: z.string() }), 'Nothing happened'),
      ...problemAnswers('unauthenticated', 'forbidden'),
    },
  });
  return routes().openapi(noop, (c) => c.json({ id: '0', status: 'queued' }, 202));
}
