/** Routes that exist only in the lab. */

import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { createRoute, z } from '@hono/zod-openapi';
import {
  type Order,
  type Outcome,
  refused,
  resourceOf,
  type Voucher,
} from '../../service/domain.ts';
import { Id, newRequestId } from '../../service/http/ids.ts';
import { type App, routes } from '../../service/http/openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../../service/http/problems.ts';
import { answer, purchaseAnswers, recordOutcome } from '../../service/http/routes/orders.ts';
import type { Service } from '../../service/http/service.ts';
import { identify, type ReadToken, requireRole, signToken } from '../../service/http/tokens.ts';
import { smallBody } from '../../service/http/voucher-schemas.ts';
import { endLease } from '../../service/ladder/lock-history.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import { using } from '../../service/locks/lock.ts';
import { asOneOwner } from '../../service/locks/shared/owner.ts';
import { whenKnown } from '../../service/purchase/when-known.ts';
import { withOrder } from '../../service/trace/checkpoints.ts';
import { renewalsAreDue } from '../../service/trace/renewals.ts';

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
  { rungOf, log }: Service,
  order: Order,
  voucher: Voucher,
): Promise<Outcome> {
  const { lock, purchase } = await rungOf(voucher);
  const { scope, waitMs = 1_000 } = rungNamed(voucher.rung);
  const onReleaseFailed = (error: unknown) =>
    log.warn({ event: 'release-failed', error: String(error) });
  const options = { waitMs, onReleaseFailed };
  const inside = () =>
    using(lock, resourceOf(scope, order), options, async () => purchase(order, voucher));
  return (await asOneOwner(() => withOrder(order, inside))) ?? refused('busy');
}

/** What an operator does to this process. */
const operated = (readToken: ReadToken) => ({
  method: 'post' as const,
  tags: ['lab'],
  security: [{ token: [] }],
  middleware: requireRole('operator', readToken),
});
const refusals = problemAnswers('invalid-request', 'unauthenticated', 'forbidden');

const mostMs = 600_000;
const rightClock = Date.now;
const milliseconds = z.coerce.number().int();
const Block = z.object({ ms: milliseconds.max(3_600_000).min(0), while: z.string().optional() });

/** The event loop of this process stands still, or its clock steps. */
export function processFaultRoutes(readToken: ReadToken): App {
  const fault = operated(readToken);
  const block = createRoute({
    ...fault,
    path: '/lab/block-event-loop',
    operationId: 'blockEventLoop',
    summary: 'Block the event loop',
    description: 'The process does nothing else for this time, or until the file `while` is gone.',
    request: { query: Block },
    responses: { 202: { description: 'The fault begins' }, ...refusals },
  });
  const stepped = jsonAnswer(z.object({ mostAheadMs: z.int() }), 'The clock has stepped');
  const step = createRoute({
    ...fault,
    path: '/lab/step-clock',
    operationId: 'stepClock',
    summary: 'Step the wall clock',
    description: 'The wall clock of this process is so much ahead; behind, if it is negative.',
    request: { query: z.object({ ms: milliseconds.max(mostMs).min(-mostMs) }) },
    responses: { 200: stepped, ...refusals },
  });

  let mostAheadMs = 0; // Of the whole life of this process: its order ids may be as far ahead.
  return routes()
    .openapi(block, (c) => {
      const { ms, while: mark } = c.req.valid('query');
      const { outgoing } = c.env as HttpBindings;
      outgoing.once('finish', () => blockFor(ms, mark));
      return c.body(null, 202);
    })
    .openapi(step, (c) => {
      const { ms } = c.req.valid('query');
      mostAheadMs = Math.max(mostAheadMs, ms);
      Date.now = () => rightClock() + ms;
      return c.json({ mostAheadMs }, 200);
    });
}

function blockFor(ms: number, mark: string | undefined): void {
  const end = performance.now() + ms;
  while (performance.now() < end && (mark === undefined || isStillThere(mark)));
}

const asleep = new Int32Array(new SharedArrayBuffer(4));

/** Looks once in a while: a person may think for long. */
function isStillThere(file: string): boolean {
  Atomics.wait(asleep, 0, 0, 10);
  return existsSync(file);
}

const betweenSamplesMicroseconds = 500;

/** A CPU profile of this instance, taken while it answers other requests. */
export function profileRoute(readToken: ReadToken): App {
  const profile = createRoute({
    ...operated(readToken),
    path: '/lab/profile',
    operationId: 'profile',
    summary: 'Profile the process',
    description: 'A .cpuprofile of V8: what the process does during this time.',
    request: { query: z.object({ ms: milliseconds.min(1).max(60_000) }) },
    responses: { 200: { description: 'The profile, as JSON' }, ...refusals },
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

/** Choices of a play: the lease of a purchase ends before its time, or the watchdogs renew now. */
export function leaseRoutes(readToken: ReadToken): App {
  const end = createRoute({
    ...operated(readToken),
    path: '/lab/end-lease',
    operationId: 'endLease',
    summary: 'End the lease of a purchase',
    description: 'The lease of this purchase is over, as if its time had passed.',
    request: { query: z.object({ request: z.string() }) },
    responses: { 204: { description: 'It is over' }, ...refusals, ...problemAnswers('not-found') },
  });
  const renew = createRoute({
    ...operated(readToken),
    path: '/lab/renew-leases',
    operationId: 'renewLeases',
    summary: 'Renew the leases',
    description: 'The leases that this process renews by itself are due now.',
    responses: { 202: { description: 'They are being renewed' }, ...refusals },
  });
  return routes()
    .openapi(end, (c) => {
      const isEnded = endLease(c.req.valid('query').request);
      return isEnded ? c.body(null, 204) : problem(c, 'not-found', 'This purchase has no lease.');
    })
    .openapi(renew, (c) => {
      renewalsAreDue();
      return c.body(null, 202);
    });
}

/** As the course checks it. It is the id of the user, too. */
const Phone = z.string().regex(/^1[3-9]\d{9}$/, 'must be a mobile number of 11 digits');
const Code = z.string().regex(/^\d{6}$/, 'must have six digits');
const LogIn = z.strictObject({ phone: Phone, code: Code });
const codeSeconds = 120;
const keyOf = (phone: string): string => `login:code:${phone}`;

const route = <Body extends z.ZodType>(
  path: string,
  operationId: string,
  summary: string,
  body: Body,
) => ({
  method: 'post' as const,
  path,
  operationId,
  summary,
  tags: ['lab'],
  security: [],
  middleware: smallBody,
  request: { body: { required: true, content: { 'application/json': { schema: body } } } },
});

const sendCode = createRoute({
  ...route('/codes', 'sendCode', 'A code for a phone number', z.strictObject({ phone: Phone })),
  description: 'It is valid for two minutes, and for one log-in. In the lab the answer has it.',
  responses: {
    201: jsonAnswer(z.object({ code: Code }), 'The code'),
    ...problemAnswers('invalid-request', 'not-ready'),
  },
});
const logIn = createRoute({
  ...route('/sessions', 'logIn', 'A token for a code', LogIn),
  description: 'The user id is the phone number. A wrong code ends the right one, too.',
  responses: {
    201: jsonAnswer(z.object({ token: z.string(), userId: z.string() }), 'The token of the user'),
    ...problemAnswers('invalid-request', 'unauthenticated', 'not-ready'),
  },
});

/**
 * The log-in of the course: a phone number asks for a code, and the code gets a token. The course
 * sends it by SMS; here the answer has it. A deployment has an issuer of tokens.
 */
export function sessionRoutes({ connections }: Service): App {
  const { TOKEN_SECRET } = connections.config;
  return routes()
    .openapi(sendCode, async (c) => {
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      const { phone } = c.req.valid('json');
      await connections.labRedis().set(keyOf(phone), code, 'EX', codeSeconds);
      return c.json({ code }, 201);
    })
    .openapi(logIn, async (c) => {
      const { phone, code } = c.req.valid('json');
      const sent = await connections.labRedis().getdel(keyOf(phone));
      if (sent !== code) return problem(c, 'unauthenticated', 'The code is wrong, used or over.');
      return c.json({ token: await signToken(TOKEN_SECRET, phone, 'user'), userId: phone }, 201);
    });
}
