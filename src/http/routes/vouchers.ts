/** Vouchers: an operator creates them, everybody may read them. */
import { createRoute, z } from '@hono/zod-openapi';
import { bodyLimit } from 'hono/body-limit';
import type { Voucher } from '../../domain.ts';
import { ladder, rungNames } from '../../ladder/rungs.ts';
import type { NewVoucher as CreateVoucher } from '../../purchase/vouchers.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../problems.ts';
import type { Service } from '../service.ts';
import { requireRole } from '../tokens.ts';

/** In bytes. No other route reads a body; nginx has the same limit for all. */
const largestBody = 16_384;
/** Within this century: MySQL, Redis and JavaScript do not agree about times beyond it. */
const Time = z.iso.datetime({ offset: true }).refine((time) => {
  const year = new Date(time).getUTCFullYear();
  return year >= 2000 && year < 2100;
}, 'must be between the years 2000 and 2100');

const NewLabOptions = z
  .strictObject({
    rails: z.boolean().optional().openapi({
      description: "Whether MySQL refuses a user's second order; the rung's own choice without it.",
    }),
    workMs: z
      .int()
      .min(0)
      .max(10_000)
      .default(0)
      .openapi({ description: 'Time between check and write.' }),
    retries: z
      .int()
      .min(0)
      .max(50)
      .default(0)
      .openapi({ description: 'Retries after a conflict.' }),
  })
  .openapi('LabOptions', { description: 'In the lab only.' });

const NewVoucher = z
  .strictObject({
    title: z.string().trim().min(1).max(200),
    stock: z.int().min(0).max(10_000_000),
    beginTime: Time,
    endTime: Time,
    rung: z.enum(rungNames).default('lua-stream'),
    lab: NewLabOptions.optional(),
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
    200: jsonAnswer(VoucherView, 'The voucher, with its remaining stock'),
    ...problemAnswers('invalid-request', 'unknown-voucher'),
  },
});

export function voucherRoutes(service: Service): App {
  const { vouchers, openRung, allowedRungs, connections } = service;
  const { TOKEN_SECRET, LAB } = connections.config;
  const operator = requireRole('operator', TOKEN_SECRET);
  const smallBody = bodyLimit({
    maxSize: largestBody,
    onError: (c) => problem(c, 'body-too-large'),
  });

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
      if (!allowedRungs.has(body.rung))
        return problem(
          c,
          'invalid-request',
          `rung: this deployment sells by ${[...allowedRungs].join(', ')}`,
        );
      if (!LAB && body.lab) return problem(c, 'invalid-request', 'lab: is for the lab only');
      const voucher = await vouchers.create(newVoucher(body, LAB));
      try {
        const { inventory } = await openRung(voucher);
        await inventory.prepare(voucher);
      } catch (error) {
        await vouchers.remove(voucher.id); // Else it would stay on the list and could never be sold.
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
      const { inventory } = await openRung(voucher);
      return c.json(view(voucher, await inventory.remaining(voucher.id)), 200);
    });
}

/** In the lab every voucher has options: by default those of its rung. */
function newVoucher({ lab, ...body }: z.output<typeof NewVoucher>, isLab: boolean): CreateVoucher {
  const { beginTime, endTime, rung } = body;
  const voucher = { ...body, beginTime: new Date(beginTime), endTime: new Date(endTime) };
  if (!isLab) return voucher;
  const { rails = ladder[rung].rails, workMs = 0, retries = 0 } = lab ?? {};
  return { ...voucher, lab: { rails, workMs, retries } };
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
