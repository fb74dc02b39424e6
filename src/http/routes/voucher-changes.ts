/** Operators change a voucher while it is on sale, and read who changed what. */
import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Connections } from '../../connections/connections.ts';
import {
  ChangeInvalid,
  ChangeUnfinished,
  CommitUnknown,
  DataChanged,
  type LockstepError,
  RedisLostSale,
  SaleEnded,
  StockBelowSold,
} from '../../errors.ts';
import {
  changeSale,
  changesOf,
  type VoucherChange,
  type VoucherEdit,
} from '../../orders/voucher-changes.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../problems.ts';
import type { Service } from '../service.ts';
import { type Identified, requireRole } from '../tokens.ts';
import { anyJsonType, Stock, smallBody, Time, Title } from '../voucher-schemas.ts';

const Edit = z
  .strictObject({
    title: Title.optional(),
    stock: Stock.optional().openapi({
      description: 'With the units that are sold. Not for a voucher with buckets.',
    }),
    beginTime: Time.optional(),
    endTime: z
      .union([Time, z.literal('now')])
      .optional()
      .openapi({ description: '`now` closes the sale, for ever.' }),
    paused: z.boolean().optional(),
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
      'more than its stock.',
  });

const params = z.object({ id: Id });
const operatorsOnly = ['unauthenticated', 'forbidden'] as const;

const changeVoucherRoute = (operator: MiddlewareHandler<Identified>) =>
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
        ...operatorsOnly,
        'invalid-request',
        'unknown-voucher',
        'stock-below-sold',
        'ended',
        'body-too-large',
        'unsupported-media-type',
        'not-ready',
        'outcome-unknown',
      ),
    },
  });

const listChangesRoute = (operator: MiddlewareHandler<Identified>) =>
  createRoute({
    method: 'get',
    path: '/vouchers/{id}/changes',
    operationId: 'listVoucherChanges',
    summary: 'Who changed a sale, and how',
    description: 'For operators. The first change comes first.',
    tags: ['vouchers'],
    security: [{ token: [] }],
    middleware: [operator],
    request: { params },
    responses: {
      200: jsonAnswer(z.array(ChangeView), 'The journal of the voucher'),
      ...problemAnswers(...operatorsOnly, 'invalid-request', 'unknown-voucher', 'not-ready'),
    },
  });

const maybeBegun = 'The change may be begun. Look at the journal before you try again.';

/** Redis is being rebuilt, or has lost the sale; nothing was changed. */
const isRedisAway = (error: unknown): error is LockstepError =>
  error instanceof DataChanged || error instanceof RedisLostSale;

export function voucherChangeRoutes({ connections, vouchers, log, readToken }: Service): App {
  const operator = requireRole('operator', readToken);

  return routes()
    .openapi(changeVoucherRoute(operator), async (c) => {
      const { id } = c.req.valid('param');
      const edit = asEdit(c.req.valid('json'));
      try {
        const changed = await changeSale(connections, id, c.get('claims').sub, edit);
        if (!changed) return problem(c, 'unknown-voucher');
        await vouchers.forget(id).catch(() => {}); // It is read again within a second.
        log.info({ event: 'voucher-changed', voucherId: id, ...changed });
        return c.json(changeView(changed), 200);
      } catch (error) {
        if (error instanceof ChangeInvalid) return problem(c, 'invalid-request', error.message);
        if (error instanceof SaleEnded) return problem(c, 'ended', error.message);
        if (error instanceof StockBelowSold) return problem(c, 'stock-below-sold', error.message);
        log.error({ event: 'voucher-not-changed', voucherId: id, error });
        if (error instanceof CommitUnknown) return problem(c, 'outcome-unknown', maybeBegun);
        if (error instanceof ChangeUnfinished) return problem(c, 'outcome-unknown', error.message);
        if (isRedisAway(error)) return problem(c, 'not-ready', error.message);
        throw error;
      }
    })
    .openapi(listChangesRoute(operator), async (c) => {
      const { id } = c.req.valid('param');
      if (!(await vouchers.find(id))) return problem(c, 'unknown-voucher');
      return c.json(await journal(connections, id), 200);
    });
}

async function journal(connections: Connections, voucherId: string) {
  return (await changesOf(connections.mysql(), voucherId)).map(changeView);
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
