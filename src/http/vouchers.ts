/** Vouchers: an operator puts them on sale, everybody may look, an operator may have them audited. */
import { createRoute, z } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import { audit } from '../audit/audit.ts';
import { collectFacts } from '../audit/collect.ts';
import { confirmed } from '../audit/facts.ts';
import type { Voucher } from '../domain.ts';
import { isRungName, ladder, rungNames } from '../ladder.ts';
import { type App, routes } from './app.ts';
import { Id } from './ids.ts';
import { problem, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

/** In bytes. No other route reads a body; nginx has the same limit for all. */
const largestBody = 16_384;
const Time = z.iso.datetime({ offset: true });

const NewVoucher = z
  .strictObject({
    title: z.string().trim().min(1).max(200),
    stock: z.int().min(0).max(10_000_000),
    beginTime: Time,
    endTime: Time,
    rung: z.enum(rungNames).default('lua-stream'),
    workMs: z
      .int()
      .min(0)
      .max(10_000)
      .default(0)
      .openapi({ description: 'Lab only: time between check and write.' }),
  })
  .refine(
    ({ beginTime, endTime }) => Date.parse(beginTime) < Date.parse(endTime),
    'endTime must be after beginTime',
  )
  .openapi('NewVoucher');

const VoucherView = z
  .object({
    id: Id,
    title: z.string(),
    stock: z.int(),
    remaining: z.int().optional(),
    beginTime: Time,
    endTime: Time,
    rung: z.string(),
  })
  .openapi('Voucher');

const AuditView = z
  .object({
    verdict: z.enum(['held', 'violated', 'unknown']),
    initialStock: z.int(),
    stock: z.int(),
    orders: z.int(),
    usersWithTwoOrders: z.int(),
    findings: z.array(
      z.object({ check: z.string(), verdict: z.string(), count: z.int(), first: z.string().optional() }),
    ),
  })
  .openapi('Audit');

const json = <Schema>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});
const params = z.object({ id: Id });
const security = [{ token: [] }];

const list = createRoute({
  method: 'get',
  path: '/vouchers',
  responses: { 200: json(z.array(VoucherView), 'The newest hundred') },
});
const show = createRoute({
  method: 'get',
  path: '/vouchers/{id}',
  request: { params },
  responses: {
    200: json(VoucherView, 'The voucher, with what is left of it'),
    ...problemAnswers('invalid-request', 'unknown-voucher'),
  },
});

export function voucherRoutes(service: Service): App {
  const { vouchers, rungs, connections } = service;
  const { TOKEN_SECRET, ALLOWED_RUNGS, LAB } = connections.config;
  const operator = requireRole('operator', TOKEN_SECRET);
  const smallBody = bodyLimit({ maxSize: largestBody, onError: (c) => problem(c, 'body-too-large') });

  const create = createRoute({
    method: 'post',
    path: '/vouchers',
    security,
    middleware: [operator, smallBody],
    request: { body: { required: true, content: { 'application/json': { schema: NewVoucher } } } },
    responses: {
      201: json(VoucherView, 'On sale'),
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden', 'unsupported-media-type'),
    },
  });
  const check = createRoute({
    method: 'get',
    path: '/vouchers/{id}/audit',
    security,
    middleware: operator,
    request: { params },
    responses: {
      200: json(AuditView, 'What MySQL and Redis hold, checked'),
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden', 'unknown-voucher'),
    },
  });

  return routes()
    .openapi(create, async (c) => {
      const body = c.req.valid('json');
      if (!ALLOWED_RUNGS.includes(body.rung) || !isRungName(body.rung))
        return problem(c, 'invalid-request', `rung: this deployment sells by ${ALLOWED_RUNGS.join(', ')}`);
      if (body.workMs > 0 && !LAB) return problem(c, 'invalid-request', 'workMs: is for the lab only');
      const voucher = await vouchers.create({
        ...body,
        beginTime: new Date(body.beginTime),
        endTime: new Date(body.endTime),
        rails: !LAB || ladder[body.rung].rails,
      });
      const { inventory } = await rungs(voucher);
      await inventory.prepare(voucher);
      c.header('Location', `/vouchers/${voucher.id}`);
      return c.json(view(voucher), 201);
    })
    .openapi(list, async (c) =>
      c.json(
        (await vouchers.list(100)).map((voucher) => view(voucher)),
        200,
      ),
    )
    .openapi(show, async (c) => {
      const voucher = await vouchers.find(c.req.valid('param').id);
      if (!voucher) return problem(c, 'unknown-voucher');
      const { inventory } = await rungs(voucher);
      return c.json(view(voucher, await inventory.remaining(voucher.id)), 200);
    })
    .openapi(check, async (c) => {
      const { id } = c.req.valid('param');
      const facts = await collectFacts(connections.mysql(), connections.redis('admin'), id);
      if (!facts) return problem(c, 'unknown-voucher');
      const { verdict, findings } = audit(facts);
      const orders = confirmed(facts);
      const usersWithTwoOrders = usersWithSeveral(orders.map(({ userId }) => userId));
      const { initialStock, mysql } = facts;
      return c.json(
        {
          verdict,
          initialStock,
          stock: mysql.stock,
          orders: orders.length,
          usersWithTwoOrders,
          findings: [...findings],
        },
        200,
      );
    });
}

function usersWithSeveral(userIds: readonly string[]): number {
  const seen = new Set<string>();
  return new Set(userIds.filter((userId) => seen.has(userId) || !seen.add(userId))).size;
}

function view({ id, title, stock, beginTime, endTime, rung }: Voucher, remaining?: number) {
  const shown = {
    id,
    title,
    stock,
    beginTime: beginTime.toISOString(),
    endTime: endTime.toISOString(),
    rung,
  };
  return remaining === undefined ? shown : { ...shown, remaining };
}
