/** The lease of a purchase ends before its time: a choice of a play. */
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../../service/http/openapi.ts';
import { problem, problemAnswers } from '../../service/http/problems.ts';
import { type ReadToken, requireRole } from '../../service/http/tokens.ts';
import { endLease } from '../../service/ladder/lock-history.ts';

export function endLeaseRoute(readToken: ReadToken): App {
  const end = createRoute({
    method: 'post',
    path: '/lab/end-lease',
    operationId: 'endLease',
    summary: 'End the lease of a purchase',
    tags: ['lab'],
    description: 'The lease of this purchase is over, as if its time had passed.',
    security: [{ token: [] }],
    middleware: requireRole('operator', readToken),
    request: { query: z.object({ request: z.string() }) },
    responses: {
      204: { description: 'It is over' },
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden', 'not-found'),
    },
  });
  return routes().openapi(end, (c) => {
    const isEnded = endLease(c.req.valid('query').request);
    return isEnded ? c.body(null, 204) : problem(c, 'not-found', 'This purchase has no lease.');
  });
}
