/** Routes about the process: its event loop stands still, its clock steps, its CPU profile. */

import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
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

const betweenSamplesMicroseconds = 500;

/** A CPU profile of this instance, taken while it answers other requests. */
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
