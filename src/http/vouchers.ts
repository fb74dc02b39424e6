/** Vouchers: an operator puts them on sale, everybody may look. */
import { createRoute, z } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import type { Voucher } from '../domain.ts';
import { isRungName, ladder, rungNames } from '../ladder.ts';
import { type App, routes } from './app.ts';
import { Id } from './ids.ts';
import { jsonAnswer, problem, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

/** In bytes. No other route reads a body; nginx has the same limit for all. */
const largestBody = 16_384;
/** Of this century: what lies beyond it, MySQL, Redis and JavaScript do not all understand. */
const Time = z.iso.datetime({ offset: true }).refine((time) => {
  const year = new Date(time).getUTCFullYear();
  return year >= 2000 && year < 2100;
}, 'must be between the years 2000 and 2100');

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
    retries: z.int().min(0).max(50).default(0).openapi({ description: 'Lab only: tries after a conflict.' }),
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

const params = z.object({ id: Id });
const security = [{ token: [] }];

const list = createRoute({
  method: 'get',
  path: '/vouchers',
  responses: { 200: jsonAnswer(z.array(VoucherView), 'The newest hundred') },
});
const show = createRoute({
  method: 'get',
  path: '/vouchers/{id}',
  request: { params },
  responses: {
    200: jsonAnswer(VoucherView, 'The voucher, with what is left of it'),
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
      201: jsonAnswer(VoucherView, 'On sale'),
      ...problemAnswers(
        'invalid-request',
        'unauthenticated',
        'forbidden',
        'body-too-large',
        'unsupported-media-type',
        'not-ready',
      ),
    },
  });
  return routes()
    .openapi(create, async (c) => {
      const body = c.req.valid('json');
      if (!ALLOWED_RUNGS.includes(body.rung) || !isRungName(body.rung))
        return problem(c, 'invalid-request', `rung: this deployment sells by ${ALLOWED_RUNGS.join(', ')}`);
      if (!LAB && body.workMs + body.retries > 0)
        return problem(c, 'invalid-request', 'workMs, retries: are for the lab only');
      const voucher = await vouchers.create({
        ...body,
        beginTime: new Date(body.beginTime),
        endTime: new Date(body.endTime),
        rails: !LAB || ladder[body.rung].rails,
      });
      try {
        const { inventory } = await rungs(voucher);
        await inventory.prepare(voucher);
      } catch (error) {
        await vouchers.remove(voucher.id); // Else it would stay on the list and never be sold.
        service.log.error({ event: 'voucher-not-prepared', error });
        return problem(c, 'not-ready', 'The voucher was not created.');
      }
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
    });
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
