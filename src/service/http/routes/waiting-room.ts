/** The line before a sale that has a waiting room. */
import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers, roleProblems } from '../problems.ts';
import type { Service } from '../service.ts';
import { requireRole, type WithClaims } from '../tokens.ts';
import { Time } from '../voucher-schemas.ts';
import { stockUnknown, tooManyTries } from './turned-away.ts';

const PlaceView = z
  .object({
    place: z.int(),
    called: z.int().openapi({ description: 'The last place that was called' }),
    pass: z
      .string()
      .optional()
      .openapi({ description: 'It is the turn of this user: the `Purchase-Pass` of a purchase' }),
    passUntil: Time.optional().openapi({ description: 'Then the pass lapses' }),
    askAgainSeconds: z
      .int()
      .optional()
      .openapi({ description: 'Without a pass: the turn is not expected before' }),
  })
  .openapi('Place');

const takePlaceRoute = (user: MiddlewareHandler<WithClaims>) =>
  createRoute({
    method: 'post',
    path: '/vouchers/{id}/place',
    operationId: 'takePlace',
    summary: 'Wait in the line of a sale',
    description:
      'For users, and for a voucher with `passesAtOnce`. A user has one place, however often they ' +
      'ask. When it is called, the answer has a pass; before, `Retry-After` says when to ask again. ' +
      'A pass that was used, or has lapsed, is over: its user takes a new place. It has no body.',
    tags: ['orders'],
    security: [{ token: [] }],
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: {
      200: jsonAnswer(PlaceView, 'The place, with the pass when it is its turn'),
      ...problemAnswers(
        ...roleProblems,
        'unknown-voucher',
        'no-waiting-room',
        'sold-out',
        'ended',
        'too-many-requests',
        'not-ready',
      ),
    },
  });

export function waitingRoomRoutes(service: Service): App {
  const { vouchers, waitingRoom, stockLeft, limits, readToken } = service;

  return routes().openapi(takePlaceRoute(requireRole('user', readToken)), async (c) => {
    const { sub: userId } = c.get('claims');
    const waitMs = limits.msUntilTry(userId);
    if (waitMs > 0) return tooManyTries(c, limits.tries, waitMs);
    const voucher = await vouchers.find(c.req.valid('param').id);
    if (!voucher) return problem(c, 'unknown-voucher');
    if (voucher.passesAtOnce === undefined) return problem(c, 'no-waiting-room');
    const left = await stockLeft(voucher);
    if (left === 0) return problem(c, 'sold-out');
    if (left === null) return stockUnknown(c, service, voucher.id);
    const found = await waitingRoom.place(voucher, userId);
    if (found === null) return problem(c, 'ended');
    const { passUntil, ...place } = found;
    const { askAgainSeconds } = place;
    if (askAgainSeconds !== undefined) c.header('Retry-After', String(askAgainSeconds));
    return c.json({ ...place, ...(passUntil && { passUntil: passUntil.toISOString() }) }, 200);
  });
}
