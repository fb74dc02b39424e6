/** The purchase, and the state of its order. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import {
  isId,
  type Order,
  type Outcome,
  refusalReasons,
  refused,
  type Voucher,
} from '../../domain.ts';
import { saleLost } from '../../inventory/shared/claims.ts';
import { isFinalRung } from '../../ladder/rungs.ts';
import { countPurchase } from '../../metrics/purchases.ts';
import { findOrder } from '../../orders/find-order.ts';
import type { Vouchers } from '../../purchase/vouchers.ts';
import { whenKnown } from '../../purchase/when-known.ts';
import { keepsHistory, record } from '../../trace/history.ts';
import { tracePurchase } from '../../trace/traces.ts';
import { jsonWith, requestIdOf } from '../headers.ts';
import {
  Id,
  idempotencyKeyPattern,
  idInPath,
  newRequestId,
  notAnId,
  requestIdOfKey,
} from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers, roleProblems } from '../problems.ts';
import type { Service } from '../service.ts';
import { identify, requireRole, type WithClaims } from '../tokens.ts';
import { isSaleOver, stockUnknown, tooManyTries, turnedAway } from './turned-away.ts';

const OrderView = z
  .object({
    id: Id,
    voucherId: z.string().openapi({
      pattern: '^(0|[1-9][0-9]{0,18})$',
      example: '9',
      description: '`0` only in a failed order whose voucher MySQL refused to store.',
    }),
    status: z.enum(['queued', 'confirmed', 'failed']),
    reason: z.string().optional(),
  })
  .openapi('Order');

/** Not a header schema: that would copy all headers of every purchase. */
const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Identifies this purchase: a repeated request is still one purchase, on lua-stream, ' +
    'lua-buckets, merged-commit and every rung of chapter 5 but redis-commands. Without it, the ' +
    '`X-Request-Id` of the request or of its answer is the key. "key", in quotes, and key are ' +
    'the same.',
  schema: { type: 'string', pattern: idempotencyKeyPattern },
} as const;
const invalidKey =
  'Idempotency-Key: must be 1 to 255 visible ASCII characters, no quote and no backslash';

const purchasePass = {
  name: 'Purchase-Pass',
  in: 'header',
  description:
    'For a voucher with `passesAtOnce`: the pass of this user. It may be used again until it ' +
    'lapses, for a repeated request. A sale that is sold out needs none.',
  schema: { type: 'string' },
} as const;

const security = [{ token: [] }];
const refusals = [...refusalReasons, 'outcome-unknown'] as const;

export const purchaseAnswers = {
  201: jsonAnswer(OrderView, 'Sold and recorded'),
  202: jsonAnswer(OrderView, 'Sold and queued; a worker records it in MySQL'),
  ...problemAnswers(
    ...roleProblems,
    'unknown-voucher',
    'too-many-requests',
    'overloaded',
    'pass-required',
    ...refusals,
  ),
};

/** Its handler checks the token and the id itself: a purchase passes no middleware. */
const buyRoute = createRoute({
  method: 'post',
  path: '/vouchers/{id}/orders',
  operationId: 'buy',
  summary: 'Buy one',
  description:
    'Needs the token of a user: its `sub` is the buyer. There is no body. `Location` is the path ' +
    'of the order. After `outcome-unknown`, repeat the request with the same `Idempotency-Key`: ' +
    'it answers with the order, or buys. If you sent no key, the `X-Request-Id` of the answer is ' +
    'the key.',
  tags: ['orders'],
  security,
  parameters: [idInPath, idempotencyKey, purchasePass],
  responses: purchaseAnswers,
});

const showRoute = (user: MiddlewareHandler<WithClaims>) =>
  createRoute({
    method: 'get',
    path: '/orders/{id}',
    operationId: 'getOrder',
    summary: 'The state of an order',
    description:
      '`queued`, `confirmed`, or `failed` with the reason. Only the user of the order may ask: ' +
      'for others the answer is 404, as for an order that does not exist.',
    tags: ['orders'],
    security,
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: {
      200: jsonAnswer(OrderView, 'The state of the order'),
      ...problemAnswers(...roleProblems, 'unknown-order', 'not-ready'),
    },
  });

export function orderRoutes(service: Service): App {
  const { connections, readToken } = service;
  const claimsOf = identify('user', readToken);

  return routes()
    .openapi(buyRoute, (c) =>
      whenKnown(claimsOf(c), (claims) =>
        claims instanceof Response ? claims : tryToBuy(c, service, claims.sub),
      ),
    )
    .openapi(showRoute(requireRole('user', readToken)), async (c) => {
      const order = await findOrder(connections, c.req.valid('param').id);
      // Another user's order and a missing one get the same answer, so that ids reveal nothing.
      if (order?.userId !== c.get('claims').sub) return problem(c, 'unknown-order');
      const { userId: _, ...view } = order;
      return c.json(view, 200);
    });
}

function tryToBuy(c: Context, service: Service, userId: string) {
  const { vouchers, limits } = service;
  const voucherId = c.req.param('id') ?? '';
  if (!isId(voucherId)) return problem(c, 'invalid-request', notAnId);
  const key = c.req.header('idempotency-key');
  const requestId = key === undefined ? (requestIdOf(c) ?? newRequestId()) : requestIdOfKey(key);
  if (requestId === null) return problem(c, 'invalid-request', invalidKey);
  const wish = { voucherId, userId, requestId };
  const buyNow = () =>
    whenKnown(vouchers.find(voucherId), (voucher) =>
      voucher ? sellTo(c, service, wish, voucher) : problem(c, 'unknown-voucher'),
    );
  const waitMs = limits.msUntilTry(userId);
  if (waitMs > 0) return tooManyTries(c, limits.tries, waitMs);
  return limits.unlessFull(buyNow) ?? turnedAway(c, 'overloaded');
}

type Wish = Omit<Order, 'id'>;

function sellTo(c: Context, service: Service, wish: Wish, voucher: Voucher) {
  if (!isAllowed(service, voucher))
    return problem(c, 'not-ready', `This deployment does not allow the rung ${voucher.rung}.`);
  if (voucher.passesAtOnce !== undefined) return sellWithPass(c, service, wish, voucher);
  return sellNow(c, service, wish, voucher);
}

async function sellWithPass(c: Context, service: Service, wish: Wish, voucher: Voucher) {
  const { waitingRoom } = service;
  if (waitingRoom.isPass(c.req.header('purchase-pass') ?? '', wish))
    return sellNow(c, service, wish, voucher, (outcome) => waitingRoom.leave(wish, outcome));
  if (isFinalRung(voucher.rung)) {
    // For those who have an order, and when it is sold out, its script has answers only.
    const left = await service.stockLeft(voucher);
    if (left === 0 || (await waitingRoom.isBuyer(voucher, wish.userId)))
      return sellNow(c, service, wish, voucher);
    if (left === null) return stockUnknown(c, service, voucher.id);
  }
  return turnedAway(c, 'pass-required', `POST /vouchers/${voucher.id}/place gives one.`);
}

function sellNow(
  c: Context,
  service: Service,
  wish: Wish,
  voucher: Voucher,
  onOutcome: (outcome: Outcome) => void = () => {},
) {
  return whenKnown(service.orderIds.next(), (id) => {
    const order = { id, ...wish };
    record('received', order);
    return whenKnown(purchase(c, service, order, voucher), (outcome) => {
      onOutcome(outcome);
      // On the other rungs, "not ready" does not say that nothing was changed.
      if (isNotReady(outcome) && isFinalRung(voucher.rung)) askAnother(c, service.instance);
      return answer(c, order, outcome);
    });
  });
}

const isNotReady = (outcome: Outcome): boolean =>
  outcome.kind === 'refused' && outcome.reason === 'not-ready';

/** A voucher with lab options is sold in the lab only. */
function isAllowed({ allowedRungs, connections }: Service, { rung, lab }: Voucher): boolean {
  return allowedRungs.has(rung) && (connections.config.LAB || !lab);
}

/** It is measured, traced and in the history. */
function purchase(
  c: Context,
  { rungOf, vouchers, log }: Service,
  order: Order,
  voucher: Voucher,
): Outcome | Promise<Outcome> {
  const begunAt = performance.now();
  const tried = whenKnown(rungOf(voucher), (rung) => rung.purchase(order, voucher));
  const outcome = whenKnown(tried, (known) =>
    known === saleLost ? lostOrEnded(vouchers, voucher.id) : known,
  );
  return whenKnown(outcome, (known) => {
    countPurchase(voucher.rung, known, performance.now() - begunAt);
    tracePurchase(voucher.rung, order, known, begunAt, c.req.header('traceparent'));
    recordOutcome(order, known);
    if (known.kind === 'unknown') {
      const { id: orderId, requestId } = order;
      log.warn({ event: 'outcome-unknown', requestId, orderId, cause: String(known.cause) });
    }
    return known;
  });
}

/** The keys of a sale are removed after its end, which an operator may have moved meanwhile. */
async function lostOrEnded(vouchers: Vouchers, voucherId: string): Promise<Outcome> {
  return (await isSaleOver(vouchers, voucherId)) ? refused('ended') : saleLost;
}

export function recordOutcome(order: Order, outcome: Outcome): void {
  if (!keepsHistory()) return;
  const reason = outcome.kind === 'refused' ? { reason: outcome.reason } : {};
  // A repeated request is accepted under the order that it already has.
  const id = outcome.kind === 'accepted' ? outcome.orderId : order.id;
  record(outcome.kind, { ...order, id }, reason);
}

export function answer(c: Context, order: Order, outcome: Outcome) {
  if (outcome.kind === 'unknown') {
    // A repeated request with this key gets the order's id, on the final rung.
    c.header('Idempotency-Key', c.req.header('idempotency-key') ?? order.requestId);
    return problem(c, 'outcome-unknown', `Order ${outcome.orderId} may exist.`, outcome.orderId);
  }
  if (outcome.kind === 'refused')
    return problem(c, outcome.reason, outcome.detail, outcome.orderId);
  const { orderId, status, tries = 1 } = outcome;
  const body = { id: orderId, voucherId: order.voucherId, status };
  return jsonWith(body, status === 'confirmed' ? 201 : 202, {
    Location: `/orders/${orderId}`,
    ...(tries > 1 && { 'X-Tries': String(tries) }),
  });
}

/** The next instance in turn can be the same one again, since other requests take turns too. */
const refusalsMax = 4;

/**
 * An instance may be cut off from Redis alone: for a purchase that it could not send, it asks nginx
 * for the next instance, before a refusal that changed nothing. nginx names the instances that have
 * refused it before; without its header, there is no such nginx. When two refuse, Redis is away.
 * @param own this instance
 */
export function askAnother(c: Context, own: string): void {
  const [isAsked, ...refusedBy] = c.req.header('x-refused-by')?.split(' ') ?? [];
  const isRedisAway = new Set([...refusedBy, own]).size > 1 || refusedBy.length >= refusalsMax;
  if (isAsked !== undefined && !isRedisAway) c.header('X-Accel-Redirect', '@another');
}
