/** Routes that exist only in the lab. */
import { createRoute, z } from '@hono/zod-openapi';
import { checkpoint, passingAs } from '../checkpoints.ts';
import { refused } from '../domain.ts';
import { rungNamed } from '../ladder.ts';
import { using } from '../locks/lock.ts';
import { asOneOwner } from '../locks/owner.ts';
import { resourceOf } from '../purchase/purchase.ts';
import { type App, routes } from './app.ts';
import { Id } from './ids.ts';
import { answer, purchaseAnswers, recordOutcome } from './orders.ts';
import { jsonAnswer, problem, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

const Accepted = z.object({ id: z.string(), status: z.string() });

export function labRoutes({ connections, vouchers, rungs, orderIds, log }: Service): App {
  const onReleaseFailed = (error: unknown) => log.warn({ event: 'release-failed', error: String(error) });
  const user = requireRole('user', connections.config.TOKEN_SECRET);
  const noop = createRoute({
    method: 'post',
    path: '/lab/noop',
    description:
      'A purchase without the purchase: what nginx, the token and the routing cost. For the benchmark.',
    security: [{ token: [] }],
    middleware: user,
    responses: {
      202: jsonAnswer(Accepted, 'Nothing happened'),
      ...problemAnswers('unauthenticated', 'forbidden'),
    },
  });
  const nested = createRoute({
    method: 'post',
    path: '/lab/vouchers/{id}/nested-orders',
    description:
      'A purchase by somebody who holds the lock of that purchase already: a method that calls another.',
    security: [{ token: [] }],
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: purchaseAnswers,
  });

  return routes()
    .openapi(noop, (c) => c.json({ id: '0', status: 'queued' }, 202))
    .openapi(nested, async (c) => {
      const voucher = await vouchers.find(c.req.valid('param').id);
      if (!voucher) return problem(c, 'unknown-voucher');
      const { lock, purchase } = await rungs(voucher);
      const userId = c.get('claims').sub;
      const order = {
        id: await orderIds.next(),
        voucherId: voucher.id,
        userId,
        requestId: crypto.randomUUID(),
      };
      const resource = resourceOf(rungNamed(voucher.rung).scope, order);
      const inside = async () => {
        await checkpoint('after-grant');
        return purchase(order, voucher);
      };
      const outcome = await asOneOwner(() =>
        passingAs(order, () => using(lock, resource, { waitMs: 1_000, onReleaseFailed }, inside)),
      );
      recordOutcome(order, outcome ?? refused('busy'));
      return outcome ? answer(c, order, outcome) : problem(c, 'busy');
    });
}
