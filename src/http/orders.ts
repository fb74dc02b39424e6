/** The purchase, and what became of it. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Order, Outcome } from '../domain.ts';
import { findOrder } from '../orders/find-order.ts';
import { type App, routes } from './app.ts';
import { Id } from './ids.ts';
import { type ProblemCode, problem, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

const OrderView = z
  .object({
    id: Id,
    voucherId: Id,
    status: z.enum(['queued', 'confirmed', 'failed']),
    reason: z.string().optional(),
  })
  .openapi('Order');

const IdempotencyKey = z
  .string()
  .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
  .optional()
  .openapi({ description: 'Names this purchase: sent again, it is still one purchase (final rung).' });

const accepted = (description: string) => ({
  description,
  content: { 'application/json': { schema: OrderView } },
});
const security = [{ token: [] }];
const refusals = [
  'sold-out',
  'already-ordered',
  'not-started',
  'ended',
  'busy',
  'lease-lost',
  'lock-service-unavailable',
  'not-ready',
  'outcome-unknown',
] as const satisfies readonly ProblemCode[];

export function orderRoutes(service: Service): App {
  const { connections, vouchers, rungs, orderIds, log } = service;
  const user = requireRole('user', connections.config.TOKEN_SECRET);

  const buy = createRoute({
    method: 'post',
    path: '/vouchers/{id}/orders',
    security,
    middleware: user,
    request: { params: z.object({ id: Id }), headers: z.object({ 'idempotency-key': IdempotencyKey }) },
    responses: {
      201: accepted('Sold and recorded'),
      202: accepted('Sold; being recorded'),
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden', 'unknown-voucher', ...refusals),
    },
  });
  const show = createRoute({
    method: 'get',
    path: '/orders/{id}',
    security,
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: {
      200: accepted('The state of the order'),
      ...problemAnswers('invalid-request', 'unauthenticated', 'unknown-order'),
    },
  });

  return routes()
    .openapi(buy, async (c) => {
      const voucher = await vouchers.find(c.req.valid('param').id);
      if (!voucher) return problem(c, 'unknown-voucher');
      const requestId = c.req.valid('header')['idempotency-key'] ?? crypto.randomUUID();
      const userId = c.get('claims').sub;
      const order = { id: orderIds.next(), voucherId: voucher.id, userId, requestId };
      const { purchase } = await rungs(voucher);
      const outcome = await purchase(order, voucher);
      if (outcome.kind === 'unknown')
        log.warn({ event: 'outcome-unknown', requestId, orderId: order.id, cause: String(outcome.cause) });
      return answer(c, order, outcome);
    })
    .openapi(show, async (c) => {
      const order = await findOrder(connections, c.req.valid('param').id);
      // Somebody else's order and no order look alike, so that ids tell nothing.
      if (order?.userId !== c.get('claims').sub) return problem(c, 'unknown-order');
      const { userId: _owner, ...view } = order;
      return c.json(view, 200);
    });
}

function answer(c: Context, order: Order, outcome: Outcome) {
  if (outcome.kind === 'unknown') return problem(c, 'outcome-unknown');
  if (outcome.kind === 'refused') return problem(c, outcome.reason, undefined, outcome.orderId);
  const { orderId, status } = outcome;
  c.header('Location', `/orders/${orderId}`);
  return c.json({ id: orderId, voucherId: order.voucherId, status }, status === 'confirmed' ? 201 : 202);
}
