/**
 * /livez: the process runs. /readyz: it takes requests; 503 while it starts, while it drains, and
 * while MySQL or Redis does not answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../problems.ts';
import type { Service } from '../service.ts';

const answerWithinMs = 2_000;
const Health = z.object({ status: z.literal('ok') }).openapi('Health');
const ok = jsonAnswer(Health, 'Healthy');

const livez = createRoute({ method: 'get', path: '/livez', responses: { 200: ok } });
const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  responses: { 200: ok, ...problemAnswers('not-ready') },
});

export function healthRoutes({ connections, isOpen }: Service): App {
  return routes()
    .openapi(livez, (c) => c.json({ status: 'ok' as const }, 200))
    .openapi(readyz, async (c) => {
      if (!isOpen()) return problem(c, 'not-ready', 'This instance is starting or stopping.');
      const missing = await unanswered({
        MySQL: () => connections.mysql().query('SELECT 1'),
        Redis: () => connections.redis('purchase').ping(),
      });
      if (missing.length > 0)
        return problem(c, 'not-ready', `No answer from ${missing.join(' and ')}.`);
      return c.json({ status: 'ok' as const }, 200);
    });
}

/** @returns the names of the servers that did not answer in time. */
async function unanswered(servers: Record<string, () => Promise<unknown>>): Promise<string[]> {
  const names = await Promise.all(
    Object.entries(servers).map(([name, ask]) =>
      Promise.race([ask(), timeout()]).then(
        () => [],
        () => [name],
      ),
    ),
  );
  return names.flat();
}

async function timeout(): Promise<never> {
  await sleep(answerWithinMs, undefined, { ref: false });
  throw new Error('no answer in time');
}
