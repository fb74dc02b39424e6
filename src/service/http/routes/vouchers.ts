/** Vouchers: an operator creates them, and everybody may read them. */

import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Config } from '../../config.ts';
import { bucketsMax, passesAtOnceMax, type Voucher } from '../../domain.ts';
import { isServiceError } from '../../errors.ts';
import { isFinalRung, knownRungs, rungNamed, rungNames } from '../../ladder/rungs.ts';
import { type NewVoucher as CreateVoucher, pageSize } from '../../purchase/vouchers.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers, roleProblems } from '../problems.ts';
import { type Service, stockLeftNow } from '../service.ts';
import { requireRole, type WithClaims } from '../tokens.ts';
import {
  anyJsonType,
  Stock,
  smallBody,
  Time,
  Title,
  VoucherView,
  view,
} from '../voucher-schemas.ts';

const NewLabOptions = z
  .strictObject({
    rails: z.boolean().optional().openapi({
      description: "Whether MySQL refuses a user's second order. Default: as the rung declares.",
    }),
    workMs: z
      .int()
      .min(0)
      .max(10_000)
      .default(0)
      .openapi({ description: 'The time between check and write, in milliseconds.' }),
    retries: z
      .int()
      .min(0)
      .max(50)
      .default(0)
      .openapi({ description: 'How often a purchase is retried after a conflict.' }),
  })
  .openapi('LabOptions', { description: 'Allowed in the lab only.' });

const splitting = rungNames.filter((name) => rungNamed(name).buckets).join(', ');
const aboutBuckets = `The number of buckets that share the stock. Only for ${splitting}; its default is VOUCHER_BUCKETS.`;

const aboutPasses =
  'The sale has a waiting room: at most this many users have a turn at once, and a user needs a ' +
  'pass to buy. Choose twice the purchases per second, because users fetch their pass some time ' +
  'after it is ready.';

const NewVoucher = z.strictObject({
  title: Title.openapi({ description: 'What is sold, in 1 to 200 letters.' }),
  stock: Stock.openapi({ description: 'How many are for sale: 0 to 10,000,000.' }),
  beginTime: Time.openapi({ description: 'When the sale begins, as `2026-11-28T20:00:00Z`.' }),
  endTime: Time.openapi({ description: 'When it ends, after `beginTime`.' }),
  // No `default` in the document: a generated client would make such a field required.
  rung: z
    .enum(knownRungs())
    .optional()
    .transform((rung) => rung ?? 'lua-stream')
    .openapi({ description: '`lua-stream` unless it is named.' }),
  buckets: z.int().min(1).max(bucketsMax).optional().openapi({ description: aboutBuckets }),
  passesAtOnce: z
    .int()
    .min(1)
    .max(passesAtOnceMax)
    .optional()
    .openapi({ description: aboutPasses }),
});
const NewVoucherInLab = NewVoucher.extend({ lab: NewLabOptions.optional() });
type Body = z.output<typeof NewVoucherInLab>;

/** Outside the lab, the document does not offer `lab`. */
const newVoucherSchema = ({ LAB }: Pick<Config, 'LAB'>) =>
  (LAB ? NewVoucherInLab : (NewVoucher as typeof NewVoucherInLab))
    .refine(
      ({ beginTime, endTime }) => Date.parse(beginTime) < Date.parse(endTime),
      'endTime must be after beginTime',
    )
    .openapi('NewVoucher');

const notCreated = 'The voucher was not created. The log of the service says why.';
const maybeCreated = 'The voucher may exist. Look at GET /vouchers before you try again.';

const params = z.object({ id: Id });
const security = [{ token: [] }];

const list = createRoute({
  method: 'get',
  path: '/vouchers',
  operationId: 'listVouchers',
  summary: 'The vouchers, the newest first',
  description:
    'The newest hundred, cached for one second. `remaining` is there for vouchers that Redis ' +
    'sells. `Link` has the path of the next page, if there is one.',
  tags: ['vouchers'],
  security: [],
  request: {
    query: z.object({
      before: Id.optional().openapi({ description: 'The last id of the page before this one' }),
    }),
  },
  responses: {
    200: jsonAnswer(z.array(VoucherView), 'A page of vouchers'),
    ...problemAnswers('invalid-request', 'not-ready'),
  },
});
const show = createRoute({
  method: 'get',
  path: '/vouchers/{id}',
  operationId: 'getVoucher',
  summary: 'One voucher, with its remaining stock',
  description:
    'The remaining stock is read where it is sold: in Redis or in MySQL, as its rung does. The ' +
    'rest is as it was within the last second.',
  tags: ['vouchers'],
  security: [],
  request: { params },
  responses: {
    200: jsonAnswer(VoucherView, 'The voucher, with its remaining stock'),
    ...problemAnswers('invalid-request', 'unknown-voucher', 'not-ready'),
  },
});

const createVoucherRoute = (operator: MiddlewareHandler<WithClaims>, config: Config) =>
  createRoute({
    method: 'post',
    path: '/vouchers',
    operationId: 'createVoucher',
    summary: 'Put a voucher on sale',
    description: 'For operators. After `outcome-unknown` the voucher may exist.',
    tags: ['vouchers'],
    security,
    middleware: [operator, smallBody, anyJsonType],
    request: {
      body: {
        required: true,
        content: { 'application/json': { schema: newVoucherSchema(config) } },
      },
    },
    responses: {
      201: jsonAnswer(VoucherView, 'On sale'),
      ...problemAnswers(
        ...roleProblems,
        'body-too-large',
        'unsupported-media-type',
        'not-ready',
        'outcome-unknown',
      ),
    },
  });

export function voucherRoutes(service: Service): App {
  const { vouchers, rungOf, connections, log, readToken } = service;
  const { config } = connections;
  const create = createVoucherRoute(requireRole('operator', readToken), config);
  const shown = viewsOfPages(service);

  return routes()
    .openapi(create, async (c) => {
      const body = c.req.valid('json');
      const wrong = whatIsWrong(body, service);
      if (wrong !== null) return problem(c, 'invalid-request', wrong);
      try {
        const { inventory } = await rungOf(body);
        const voucher = await vouchers.create(newVoucher(body, config), inventory.prepare);
        c.header('Location', `/vouchers/${voucher.id}`);
        return c.json(view(voucher), 201);
      } catch (error) {
        if (isServiceError(error, 'STOCK_TOO_LARGE'))
          return problem(c, 'invalid-request', error.message);
        log.error({ event: 'voucher-not-created', error });
        if (isServiceError(error, 'VOUCHER_ID_TAKEN')) return problem(c, 'not-ready', notCreated);
        if (isServiceError(error, 'COMMIT_UNKNOWN'))
          return problem(c, 'outcome-unknown', maybeCreated);
        throw error;
      }
    })
    .openapi(list, async (c) => {
      const page = await vouchers.list(c.req.valid('query').before);
      const last = page[pageSize - 1];
      if (last) c.header('Link', `</vouchers?before=${last.id}>; rel="next"`);
      return c.json(await shown(page), 200);
    })
    .openapi(show, async (c) => {
      const voucher = await vouchers.look(c.req.valid('param').id);
      if (!voucher) return problem(c, 'unknown-voucher');
      return c.json(view(voucher, await stockLeftNow(rungOf, voucher)), 200);
    });
}

/** A page is read once in a second, and so is what Redis has left of its vouchers. */
function viewsOfPages({ stockLeft }: Service) {
  const known = new WeakMap<readonly Voucher[], Promise<ReturnType<typeof view>[]>>();
  const leftOf = (voucher: Voucher) => (isFinalRung(voucher.rung) ? stockLeft(voucher) : null);
  const read = async (page: readonly Voucher[]) => {
    const left = await Promise.all(page.map(leftOf));
    return page.map((voucher, index) => view(voucher, left[index]));
  };
  return (page: readonly Voucher[]) => {
    const views = known.get(page) ?? read(page);
    known.set(page, views);
    return views;
  };
}

/** What the schema cannot know; null when nothing is. */
function whatIsWrong({ rung, buckets }: Body, { allowedRungs }: Service): string | null {
  if (!allowedRungs.has(rung))
    return `rung: this deployment allows ${[...allowedRungs].join(', ')}`;
  if (buckets !== undefined && !rungNamed(rung).buckets)
    return `buckets: ${rung} does not split its stock; only ${splitting} does`;
  return null;
}

/** In the lab every voucher has lab options; the defaults are those of its rung. */
function newVoucher(
  { lab, buckets, passesAtOnce, ...body }: Body,
  { LAB, VOUCHER_BUCKETS }: Config,
): CreateVoucher {
  const { beginTime, endTime, rung } = body;
  const voucher = {
    ...body,
    beginTime: new Date(beginTime),
    endTime: new Date(endTime),
    ...(rungNamed(rung).buckets && { buckets: buckets ?? VOUCHER_BUCKETS }),
    ...(passesAtOnce !== undefined && { passesAtOnce }),
  };
  if (!LAB) return voucher;
  const { rails = rungNamed(rung).rails, workMs = 0, retries = 0 } = lab ?? {};
  return { ...voucher, lab: { rails, workMs, retries } };
}
