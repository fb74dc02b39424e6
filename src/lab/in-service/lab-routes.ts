/** Routes that exist only in the lab. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  type Order,
  type Outcome,
  refused,
  resourceOf,
  type Voucher,
} from '../../service/domain.ts';
import { Id } from '../../service/http/ids.ts';
import { type App, routes } from '../../service/http/openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../../service/http/problems.ts';
import { newRequestId } from '../../service/http/request-ids.ts';
import { answer, purchaseAnswers, recordOutcome } from '../../service/http/routes/orders.ts';
import type { Service } from '../../service/http/service.ts';
import { identify, requireRole } from '../../service/http/tokens.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import { using } from '../../service/locks/lock.ts';
import { asOneOwner } from '../../service/locks/shared/owner.ts';
import { whenKnown } from '../../service/purchase/when-known.ts';
import { withOrder } from '../../service/trace/checkpoints.ts';

const Accepted = z.object({ id: z.string(), status: z.string() });

export function labRoutes(service: Service): App {
  const { vouchers, orderIds, readToken } = service;
  const user = requireRole('user', readToken);
  const claimsOf = identify('user', readToken); // As the purchase: no middleware.
  const noop = createRoute({
    method: 'post',
    path: '/lab/noop',
    operationId: 'buyNothing',
    summary: 'A purchase without the purchase',
    tags: ['lab'],
    description: 'The cost of nginx, token and routing. For the benchmark.',
    security: [{ token: [] }],
    responses: {
      202: jsonAnswer(Accepted, 'Nothing happened'),
      ...problemAnswers('unauthenticated', 'forbidden'),
    },
  });
  const nested = createRoute({
    method: 'post',
    path: '/lab/vouchers/{id}/nested-orders',
    operationId: 'buyNested',
    summary: 'A purchase inside its own lock',
    tags: ['lab'],
    description: 'A purchase while its own lock is already held: a method that calls another.',
    security: [{ token: [] }],
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: purchaseAnswers,
  });

  return routes()
    .openapi(noop, (c) =>
      whenKnown(claimsOf(c), (claims) =>
        claims instanceof Response ? claims : c.json({ id: '0', status: 'queued' }, 202),
      ),
    )
    .openapi(nested, async (c) => {
      const voucher = await vouchers.find(c.req.valid('param').id);
      if (!voucher) return problem(c, 'unknown-voucher');
      const userId = c.get('claims').sub;
      const requestId = c.req.header('idempotency-key') ?? newRequestId();
      const order = { id: await orderIds.next(), voucherId: voucher.id, userId, requestId };
      const outcome = await purchaseInside(service, order, voucher);
      recordOutcome(order, outcome);
      return answer(c, order, outcome);
    });
}

/** Acquires the lock of the purchase, then makes the purchase, as one owner. */
async function purchaseInside(
  { openRung, log }: Service,
  order: Order,
  voucher: Voucher,
): Promise<Outcome> {
  const { lock, purchase } = await openRung(voucher);
  const { scope, waitMs = 1_000 } = rungNamed(voucher.rung);
  const onReleaseFailed = (error: unknown) =>
    log.warn({ event: 'release-failed', error: String(error) });
  const options = { waitMs, onReleaseFailed };
  const inside = () =>
    using(lock, resourceOf(scope, order), options, async () => purchase(order, voucher));
  return (await asOneOwner(() => withOrder(order, inside))) ?? refused('busy');
}
