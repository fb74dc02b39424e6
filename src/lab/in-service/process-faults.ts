/** Faults inside an instance: its event loop stands still, its wall clock steps. */
import type { HttpBindings } from '@hono/node-server';
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../../service/http/openapi.ts';
import { problemAnswers } from '../../service/http/problems.ts';
import { type ReadToken, requireRole } from '../../service/http/tokens.ts';

const mostMs = 600_000;
const rightClock = Date.now;

export function processFaultRoutes(readToken: ReadToken): App {
  const fault = {
    method: 'post' as const,
    security: [{ token: [] }],
    middleware: requireRole('operator', readToken),
  };
  const refusals = problemAnswers('invalid-request', 'unauthenticated', 'forbidden');
  const ms = z.coerce.number().int().max(mostMs);
  const block = createRoute({
    ...fault,
    path: '/lab/block-event-loop',
    operationId: 'blockEventLoop',
    summary: 'Block the event loop',
    tags: ['lab'],
    description: 'The process does nothing else for this time.',
    request: { query: z.object({ ms: ms.min(0) }) },
    responses: { 202: { description: 'The fault begins' }, ...refusals },
  });
  const answer = { 'application/json': { schema: z.object({ mostAheadMs: z.int() }) } };
  const step = createRoute({
    ...fault,
    path: '/lab/step-clock',
    operationId: 'stepClock',
    summary: 'Step the wall clock',
    tags: ['lab'],
    description: 'The wall clock of this process is so much ahead; behind, if it is negative.',
    request: { query: z.object({ ms: ms.min(-mostMs) }) },
    responses: { 200: { description: 'The clock has stepped', content: answer }, ...refusals },
  });

  let mostAheadMs = 0; // Of the whole life of this process: its order ids may be as far ahead.
  return routes()
    .openapi(block, (c) => {
      const { ms } = c.req.valid('query');
      const { outgoing } = c.env as HttpBindings;
      outgoing.once('finish', () => blockFor(ms));
      return c.body(null, 202);
    })
    .openapi(step, (c) => {
      const { ms } = c.req.valid('query');
      mostAheadMs = Math.max(mostAheadMs, ms);
      Date.now = () => rightClock() + ms;
      return c.json({ mostAheadMs }, 200);
    });
}

function blockFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
