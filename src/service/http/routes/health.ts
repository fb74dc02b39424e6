/**
 * /livez: the process runs. /readyz: it can sell. It is 503 while the process drains or can make no
 * order ids, and while Redis takes no purchase on the connection that the purchases use, waits for
 * its rebuild, or keeps orders less safely than ORDER_DURABILITY promises. Without MySQL, while it
 * is read-only or full, or without order workers, the vouchers that the process has in memory are
 * sold and their orders wait: then it is 200 with the status `degraded`.
 */

import { createRoute, z } from '@hono/zod-openapi';
import { LRUCache } from 'lru-cache';
import type { Connections } from '../../connections/connections.ts';
import { weakDurability } from '../../connections/durability.ts';
import {
  isInEpoch,
  type MysqlState,
  mysqlState,
  oldestOrderMs,
  soon,
  takesPurchases,
} from '../../connections/probes.ts';
import { serviceError } from '../../errors.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../problems.ts';
import type { Service } from '../service.ts';

const Health = z.object({ status: z.literal('ok') }).openapi('Health');
const ok = jsonAnswer(Health, 'Healthy');

const livez = createRoute({
  method: 'get',
  path: '/livez',
  operationId: 'isAlive',
  summary: 'Whether the process runs',
  description: 'It asks no store: 200 while the process runs.',
  tags: ['health'],
  security: [],
  responses: { 200: ok, ...problemAnswers('invalid-request') },
});
const servers = z.array(z.literal('MySQL'));
const Readiness = z
  .object({
    status: z.enum(['ok', 'degraded']),
    unanswered: servers,
    readOnly: servers,
    oldestOrderMs: z.number().int().nullable(),
  })
  .openapi('Readiness', {
    description:
      'Degraded: the servers in `unanswered` do not answer, those in `readOnly` take no writes, ' +
      'or the oldest accepted order has waited too long to be recorded: for `oldestOrderMs`, ' +
      'which is null while none waits or Redis does not say. Accepted orders wait in Redis.',
  });
const readyz = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'isReady',
  summary: 'Whether it can sell',
  description:
    '200 while it can sell, with `degraded` when MySQL does not answer or is read-only, or when ' +
    'the oldest order of `lua-stream` has waited longer than `PROGRESS_WITHIN_MS` to be recorded ' +
    '(`oldestOrderMs`). 503 while it drains, when Redis takes no purchase or is less safe than ' +
    '`ORDER_DURABILITY`, while Redis waits for its rebuild, or while no order id can be made.',
  tags: ['health'],
  security: [],
  responses: {
    200: jsonAnswer(Readiness, 'It can sell'),
    ...problemAnswers('invalid-request', 'not-ready'),
  },
});

/** A new master may have other settings than the one that the process started with. */
const weakText = ({ config }: Connections, weak: readonly string[]): string =>
  serviceError('DURABILITY_TOO_WEAK', config.ORDER_DURABILITY, weak).message;

/** A look costs MySQL a write and Redis eight commands: all who ask in this time share one. */
const lookKeptMs = 250;

async function look(connections: Connections) {
  const [mysql, redis, isCurrent, weak, waitedMs] = await Promise.all([
    mysqlState(connections),
    takesPurchases(connections),
    // Nothing is known without an answer: `takesPurchases` says whether Redis answers.
    soon(isInEpoch(connections)).catch(() => true),
    soon(weakDurability(connections)).catch(() => null),
    oldestOrderMs(connections),
  ]);
  return { mysql, redis, isCurrent, weak, waitedMs };
}

export function healthRoutes({ connections, orderIds, isOpen }: Service): App {
  const looks = new LRUCache<'now', Awaited<ReturnType<typeof look>>>({
    max: 1,
    ttl: lookKeptMs,
    fetchMethod: () => look(connections),
  });
  return routes()
    .openapi(livez, (c) => c.json({ status: 'ok' as const }, 200))
    .openapi(readyz, async (c) => {
      if (!isOpen()) return problem(c, 'not-ready', 'This instance is stopping.');
      const { mysql, redis, isCurrent, weak, waitedMs } = await looks.forceFetch('now');
      if (!redis) return problem(c, 'not-ready', 'Redis takes no purchase.');
      if (!isCurrent)
        return problem(c, 'not-ready', 'Redis is being rebuilt, or has lost its data.');
      if (weak && weak.length > 0) return problem(c, 'not-ready', weakText(connections, weak));
      const noIds = orderIds.problem();
      if (noIds !== null) return problem(c, 'not-ready', noIds);
      return c.json(readiness(mysql, waitedMs, connections.config.PROGRESS_WITHIN_MS), 200);
    });
}

/** Of an instance that can sell. */
function readiness(
  mysql: MysqlState,
  waitedMs: number | null,
  mostMs: number,
): z.infer<typeof Readiness> {
  const isRecording = mysql === 'writable' && (waitedMs ?? 0) <= mostMs;
  return {
    status: isRecording ? 'ok' : 'degraded',
    unanswered: mysql === 'unanswered' ? ['MySQL'] : [],
    readOnly: mysql === 'read-only' ? ['MySQL'] : [],
    oldestOrderMs: waitedMs,
  };
}
