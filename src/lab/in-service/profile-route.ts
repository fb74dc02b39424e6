/** A CPU profile of this instance, taken while it answers other requests. */
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../../service/http/openapi.ts';
import { problemAnswers } from '../../service/http/problems.ts';
import { type ReadToken, requireRole } from '../../service/http/tokens.ts';

const betweenSamplesMicroseconds = 500;

export function profileRoute(readToken: ReadToken): App {
  const profile = createRoute({
    method: 'post',
    path: '/lab/profile',
    operationId: 'profile',
    summary: 'Profile the process',
    tags: ['lab'],
    description: 'A .cpuprofile of V8: what the process does during this time.',
    security: [{ token: [] }],
    middleware: requireRole('operator', readToken),
    request: { query: z.object({ ms: z.coerce.number().int().min(1).max(60_000) }) },
    responses: {
      200: { description: 'The profile, as JSON' },
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden'),
    },
  });
  return routes().openapi(profile, async (c) => {
    const taken = await takeProfile(c.req.valid('query').ms);
    return c.body(JSON.stringify(taken), 200, { 'Content-Type': 'application/json' });
  });
}

async function takeProfile(ms: number) {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: betweenSamplesMicroseconds });
    await session.post('Profiler.start');
    await sleep(ms);
    return (await session.post('Profiler.stop')).profile;
  } finally {
    session.disconnect();
  }
}
