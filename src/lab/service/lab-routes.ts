/** Routes that exist only in the lab. */
import { createRoute, z } from '@hono/zod-openapi';
import { refused, resourceOf } from '../../domain.ts';
import { Id } from '../../http/ids.ts';
import { type App, routes } from '../../http/openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../../http/problems.ts';
import { answer, purchaseAnswers, recordOutcome } from '../../http/routes/orders.ts';
import type { Service } from '../../http/service.ts';
import { requireRole } from '../../http/tokens.ts';
import { rungNamed } from '../../ladder/rungs.ts';
import { using } from '../../locks/lock.ts';
import { asOneOwner } from '../../locks/shared/owner.ts';
import { withOrder } from '../../trace/checkpoints.ts';

const Accepted = z.object({ id: z.string(), status: z.string() });

export function labRoutes({ connections, vouchers, openRung, orderIds, log }: Service): App {
  const onReleaseFailed = (error: unknown) =>
    log.warn({ event: 'release-failed', error: String(error) });
  const user = requireRole('user', connections.config.TOKEN_SECRET);
  const noop = createRoute({
    method: 'post',
    path: '/lab/noop',
    description:
      'A purchase without the purchase: the cost of nginx, token and routing. For the benchmark.',
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
    description: 'A purchase while its own lock is already held: a method that calls another.',
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
      const { lock, purchase } = await openRung(voucher);
      const order = {
        id: await orderIds.next(),
        voucherId: voucher.id,
        userId: c.get('claims').sub,
        requestId: c.req.header('idempotency-key') ?? crypto.randomUUID(),
      };
      const { scope, waitMs = 1_000 } = rungNamed(voucher.rung);
      const outside = { waitMs, onReleaseFailed };
      const outcome = await asOneOwner(() =>
        withOrder(order, () =>
          using(lock, resourceOf(scope, order), outside, () => purchase(order, voucher)),
        ),
      );
      recordOutcome(order, outcome ?? refused('busy'));
      return outcome ? answer(c, order, outcome) : problem(c, 'busy');
    });
}
