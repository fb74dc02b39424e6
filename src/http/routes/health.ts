/**
 * /livez: the process runs. /readyz: it can sell. It is 503 while the process drains, and while
 * Redis does not answer. Without MySQL the vouchers that the process has in memory are sold, so it
 * is 200 with the status `degraded`.
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
const Readiness = z
  .object({ status: z.enum(['ok', 'degraded']), unanswered: z.array(z.literal('MySQL')) })
  .openapi('Readiness', { description: 'Degraded: the servers in `unanswered` do not answer.' });
const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  responses: { 200: jsonAnswer(Readiness, 'It can sell'), ...problemAnswers('not-ready') },
});

export function healthRoutes({ connections, isOpen }: Service): App {
  return routes()
    .openapi(livez, (c) => c.json({ status: 'ok' as const }, 200))
    .openapi(readyz, async (c) => {
      if (!isOpen()) return problem(c, 'not-ready', 'This instance is stopping.');
      const [mysql, redis] = await Promise.all([
        answersInTime(connections.mysql().query('SELECT 1')),
        answersInTime(connections.redis('purchase').ping()),
      ]);
      if (!redis) return problem(c, 'not-ready', 'Redis does not answer.');
      if (!mysql)
        return c.json({ status: 'degraded' as const, unanswered: ['MySQL' as const] }, 200);
      return c.json({ status: 'ok' as const, unanswered: [] }, 200);
    });
}

const answersInTime = (answer: Promise<unknown>): Promise<boolean> =>
  Promise.race([answer, timeout()]).then(
    () => true,
    () => false,
  );

async function timeout(): Promise<never> {
  await sleep(answerWithinMs, undefined, { ref: false });
  throw new Error('no answer in time');
}
