/** Faults inside an instance: its event loop stands still, its wall clock steps back. */
import type { HttpBindings } from '@hono/node-server';
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../../http/openapi.ts';
import { problemAnswers } from '../../http/problems.ts';
import { requireRole } from '../../http/tokens.ts';

const rightClock = Date.now;

export function processFaultRoutes(tokenSecret: string): App {
  const faultRoute = (path: string, description: string) =>
    createRoute({
      method: 'post',
      path: `/lab/${path}`,
      description,
      security: [{ token: [] }],
      middleware: requireRole('operator', tokenSecret),
      request: { query: z.object({ ms: z.coerce.number().int().min(0).max(600_000) }) },
      responses: {
        202: { description: 'The fault begins' },
        ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden'),
      },
    });
  const block = faultRoute('block-event-loop', 'This process does nothing else for so long.');
  const step = faultRoute('step-clock-back', 'The wall clock of this process is so much behind.');

  return routes()
    .openapi(block, (c) => {
      const { ms } = c.req.valid('query');
      const { outgoing } = c.env as HttpBindings;
      outgoing.once('finish', () => blockFor(ms));
      return c.body(null, 202);
    })
    .openapi(step, (c) => {
      const { ms } = c.req.valid('query');
      Date.now = () => rightClock() - ms;
      return c.body(null, 202);
    });
}

function blockFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
