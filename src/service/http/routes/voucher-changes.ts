/** Operators change a voucher while it is on sale, and read who changed what. */

import { createRoute, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { isServiceError } from '../../errors.ts';
import { boundedLine } from '../../inventory/shared/bounded-line.ts';
import { changesOf, changesPerPage, type VoucherChange } from '../../orders/change-journal.ts';
import { changeSale, type VoucherEdit } from '../../orders/voucher-changes.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers, roleProblems } from '../problems.ts';
import type { Service } from '../service.ts';
import { requireRole, type WithClaims } from '../tokens.ts';
import { anyJsonType, Stock, smallBody, Time, Title } from '../voucher-schemas.ts';

const Edit = z
  .strictObject({
    title: Title.optional().openapi({ description: 'The new name.' }),
    stock: Stock.optional().openapi({
      description: 'With the units that are sold.',
    }),
    beginTime: Time.optional().openapi({ description: 'The window moves.' }),
    endTime: z
      .union([Time, z.literal('now')])
      .optional()
      .openapi({ description: 'The window moves; `now` closes the sale, for ever.' }),
    paused: z.boolean().optional().openapi({
      description: 'While it is true nothing is sold, and a purchase is `sale-paused`.',
    }),
  })
  .refine((edit) => Object.keys(edit).length > 0, 'must name what changes')
  .openapi('VoucherEdit', { minProperties: 1 });

const ChangeView = z
  .object({
    number: z.int(),
    operatorId: Id,
    state: z.enum(['begun', 'done', 'refused']),
    title: z.string(),
    stock: z.int(),
    stockBefore: z.int(),
    beginTime: Time,
    endTime: Time.nullable(),
    paused: z.boolean(),
    sold: z.int().nullable(),
    begunAt: z.iso.datetime(),
    settledAt: z.iso.datetime().nullable(),
  })
  .openapi('VoucherChange', {
    description:
      'The values are those after the change. A change that is begun and not settled is finished ' +
      'by an order worker. `sold`: how many were sold when the change was refused, since that was ' +
      'more than its stock; null when MySQL had lost its last changes.',
  });

const params = z.object({ id: Id });
const ChangeNumber = z
  .string()
  .regex(/^(0|[1-9]\d{0,8})$/)
  .openapi({ description: 'The number of a change', example: '100' });

const changeVoucherRoute = (operator: MiddlewareHandler<WithClaims>) =>
  createRoute({
    method: 'patch',
    path: '/vouchers/{id}',
    operationId: 'changeVoucher',
    summary: 'Pause, resume, close or change a sale',
    description:
      'For operators, while the sale is not over. What is absent stays as it is. After ' +
      '`outcome-unknown` the change may be begun: see its journal.',
    tags: ['vouchers'],
    security: [{ token: [] }],
    middleware: [operator, smallBody, anyJsonType],
    request: {
      params,
      body: { required: true, content: { 'application/json': { schema: Edit } } },
    },
    responses: {
      200: jsonAnswer(ChangeView, 'The sale is changed'),
      ...problemAnswers(
        ...roleProblems,
        'unknown-voucher',
        'stock-below-sold',
        'ended',
        'body-too-large',
        'unsupported-media-type',
        'stores-differ',
        'database-busy',
        'not-ready',
        'outcome-unknown',
      ),
    },
  });

const listChangesRoute = (operator: MiddlewareHandler<WithClaims>) =>
  createRoute({
    method: 'get',
    path: '/vouchers/{id}/changes',
    operationId: 'listVoucherChanges',
    summary: 'Who changed a sale, and how',
    description:
      `For operators. The first change comes first, ${changesPerPage} in an answer; \`after\` is ` +
      'the number of the last change of the page before it.',
    tags: ['vouchers'],
    security: [{ token: [] }],
    middleware: [operator],
    request: { params, query: z.object({ after: ChangeNumber.optional() }) },
    responses: {
      200: jsonAnswer(z.array(ChangeView), 'The journal of the voucher'),
      ...problemAnswers(...roleProblems, 'unknown-voucher', 'not-ready'),
    },
  });

const maybeBegun = 'The change may be begun. Look at the journal before you try again.';

/**
 * Of an instance: each change has a connection of the pool while it waits for the lock of its
 * voucher, and the other requests need some too.
 */
const changesAtOnce = { connections: 2, waitingMax: 100, waitMs: 5_000 };

/** Of an earlier change that must be finished first, or of Redis; nothing was changed. */
const ofRedis = ['DATA_CHANGED', 'REDIS_LOST_SALE', 'HOLD_LOST', 'REPLICA_BEHIND'] as const;

export function voucherChangeRoutes({ connections, vouchers, log, readToken }: Service): App {
  const operator = requireRole('operator', readToken);
  const inLine = boundedLine(changesAtOnce);

  return routes()
    .openapi(changeVoucherRoute(operator), async (c) => {
      const { id } = c.req.valid('param');
      const edit = asEdit(c.req.valid('json'));
      try {
        const { sub } = c.get('claims');
        const changed = await inLine(() => changeSale(connections, id, sub, edit));
        if (!changed) return problem(c, 'unknown-voucher');
        await vouchers.forget(id).catch(() => {}); // It is read again within a second.
        log.info({ event: 'voucher-changed', voucherId: id, ...changed });
        return c.json(changeView(changed), 200);
      } catch (error) {
        const refusal = refusalOf(c, error);
        if (refusal) return refusal;
        log.error({ event: 'voucher-not-changed', voucherId: id, error });
        if (isServiceError(error, 'COMMIT_UNKNOWN'))
          return problem(c, 'outcome-unknown', maybeBegun);
        if (isServiceError(error, 'CHANGE_UNFINISHED'))
          return problem(c, 'outcome-unknown', error.message);
        if (isServiceError(error, ...ofRedis)) return problem(c, 'not-ready', error.message);
        throw error;
      }
    })
    .openapi(listChangesRoute(operator), async (c) => {
      const { id } = c.req.valid('param');
      if (!(await vouchers.find(id))) return problem(c, 'unknown-voucher');
      const after = Number(c.req.valid('query').after ?? 0);
      const changes = await changesOf(connections.mysql(), id, after);
      return c.json(changes.map(changeView), 200);
    });
}

/** Null when it is no refusal. */
function refusalOf(c: Context, error: unknown) {
  if (isServiceError(error, 'CHANGE_INVALID')) return problem(c, 'invalid-request', error.message);
  if (isServiceError(error, 'SALE_ENDED')) return problem(c, 'ended', error.message);
  if (isServiceError(error, 'STOCK_BELOW_SOLD'))
    return problem(c, 'stock-below-sold', error.message);
  if (isServiceError(error, 'MYSQL_BEHIND')) return problem(c, 'stores-differ', error.message);
  if (isServiceError(error, 'CONNECTIONS_BUSY')) return problem(c, 'database-busy', error.message);
  return null;
}

function asEdit({ beginTime, endTime, ...rest }: z.output<typeof Edit>): VoucherEdit {
  return {
    ...rest,
    ...(beginTime !== undefined && { beginTime: new Date(beginTime) }),
    ...(endTime !== undefined && { endTime: endTime === 'now' ? 'now' : new Date(endTime) }),
  };
}

const changeView = ({ beginTime, endTime, begunAt, settledAt, ...rest }: VoucherChange) => ({
  ...rest,
  beginTime: beginTime.toISOString(),
  endTime: endTime?.toISOString() ?? null,
  begunAt: begunAt.toISOString(),
  settledAt: settledAt?.toISOString() ?? null,
});
