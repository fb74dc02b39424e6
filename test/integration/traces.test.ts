/** Traces: what a collector of OpenTelemetry is sent, and what happens without it. */
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Order } from '../../src/service/domain.ts';
import {
  openTraces,
  traceDeadLetter,
  tracePurchase,
  traceRecording,
} from '../../src/service/trace/traces.ts';
import { httpServer } from '../support/basics.ts';
import { deploymentSecret } from '../support/client.ts';
import { ownStores } from '../support/own-stores.ts';
import { deploy } from '../support/service-process.ts';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly links?: readonly object[];
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly status?: { readonly message: string };
  /** Of the process that sent it. */
  readonly instance: string;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}
interface Message {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<SentSpan, 'attributes'> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[]): Record<string, string> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));

const spansOf = ({ resourceSpans }: Message): SentSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        instance: valuesOf(resource.attributes)['service.instance.id'] ?? '',
      })),
    ),
  );

/** With its spans, in the order in which they came. `no-answer`: it keeps the request open. */
async function collector() {
  const spans: SentSpan[] = [];
  const sizes: number[] = [];
  const state: { answers: 200 | 503 | 'no-answer' } = { answers: 200 };
  const { url } = await httpServer(async (request, answer) => {
    const sent = spansOf((await json(request)) as Message);
    sizes.push(sent.length);
    if (state.answers === 200) spans.push(...sent);
    if (state.answers !== 'no-answer') answer.writeHead(state.answers).end('{}');
  });
  return { url: `${url}/v1/traces`, spans, sizes, state };
}

async function tracedService(url: string) {
  const settings = { ...(await ownStores()), TRACES_URL: url, BATCH_GATHER_MS: '0' };
  const { events, onSale, buy } = await deploy(settings);
  const voucherId = await onSale();
  const purchase = (userId: string, headers: Readonly<Record<string, string>>) =>
    buy(voucherId, userId, headers);
  return { events, voucherId, purchase };
}

const longAgo = (span: SentSpan) => Date.now() - Number(span.startTimeUnixNano) / 1e6;

test('a purchase is one trace, from its request to its row, and no client chooses its id', async () => {
  const { url, spans } = await collector();
  const { voucherId, purchase } = await tracedService(url);
  const requestId = 'c0ffee00'.repeat(4);
  const traceparent = `00-${requestId}-${'a'.repeat(16)}-01`;
  const { id } = await purchase('7', { 'x-request-id': requestId, traceparent });
  await waitUntil('both spans', 20_000, async () => spans.length === 2);
  const [sold, recorded] = ['purchase', 'record order'].map((named) =>
    spans.find(({ name }) => name === named),
  );
  if (!sold || !recorded) throw new Error('a span is missing');
  const attributes = {
    ...{ 'lockstep.order': id, 'lockstep.voucher': voucherId, 'lockstep.request': requestId },
  };
  expect(sold).toMatchObject({ attributes, instance: 'api-1' });
  expect(sold.attributes).toMatchObject({ 'lockstep.outcome': 'accepted' });
  expect(sold).not.toHaveProperty('parentSpanId');
  expect(sold.links).toEqual([{ traceId: requestId, spanId: 'a'.repeat(16) }]);
  expect(sold.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(sold.traceId).not.toBe(requestId);
  expect(recorded).toMatchObject({ attributes, instance: 'api-worker-1' });
  expect([recorded.traceId, recorded.parentSpanId]).toEqual([sold.traceId, sold.spanId]);
  expect(recorded).not.toHaveProperty('status');
  for (const span of [sold, recorded]) {
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThan(BigInt(span.startTimeUnixNano));
    expect(longAgo(span)).toBeGreaterThan(0);
    expect(longAgo(span)).toBeLessThan(60_000);
  }

  const key = { 'idempotency-key': 'mine' };
  const first = await purchase('8', key);
  expect((await purchase('8', key)).id).toBe(first.id);
  await waitUntil('the spans of both', 20_000, async () => spans.length === 5);
  const [begun, ...children] = spans.slice(2).toSorted((one) => (one.parentSpanId ? 1 : -1));
  for (const { traceId, parentSpanId, attributes: about } of children)
    expect([traceId, parentSpanId, about['lockstep.order']]).toEqual([
      ...[begun?.traceId, begun?.spanId],
      first.id,
    ]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5);
});

test('while the collector is away, purchases go on, and the log says that spans are lost', async () => {
  const { url, spans, state } = await collector();
  const { events, purchase } = await tracedService(url);
  state.answers = 503;
  expect((await purchase('7', {})).httpStatus).toBe(202);
  const lost = () => events('traces-not-sent');
  await waitUntil('the log', 20_000, async () => lost().length > 0);
  expect(lost()[0]).toMatchObject({ spans: 1, error: 'Error: The collector answered 503.' });
  state.answers = 200;
  expect((await purchase('8', {})).httpStatus).toBe(202);
  const arrived = () => spans.filter(({ attributes }) => attributes['lockstep.outcome']);
  await waitUntil('the next span', 20_000, async () => arrived().length > 0);
});

const orderOf = (userId: number): Order => ({
  ...{ id: `1${userId}`, voucherId: '9', userId: `${userId}`, requestId: 'first' },
});

const quiet = pino({ level: 'silent' });
const settings = (TRACES_URL: string, TRACES_RATIO = 1) => ({
  ...{ TRACES_URL, TRACES_RATIO },
  ...{ TOKEN_SECRET: deploymentSecret, TOKEN_SECRET_BEFORE: '' },
});
const soldOut = { kind: 'refused', reason: 'sold-out' } as const;

/** Of a hundred purchases, with this part of them traced. */
async function spansWith(ratio: number): Promise<SentSpan[]> {
  const { url, spans } = await collector();
  const close = openTraces(settings(url, ratio), 'here', quiet);
  const orders = Array.from({ length: 100 }, (_, user) => orderOf(user + 1));
  for (const order of orders) {
    const accepted = { kind: 'accepted', orderId: order.id, status: 'queued' } as const;
    tracePurchase('lua-stream', order, accepted, performance.now());
  }
  traceRecording(orders, new Set(orders.map(({ id }) => id)), performance.now());
  await close();
  return spans;
}

test('a part of the purchases is traced, and every process takes the same ones', async () => {
  expect(await spansWith(0)).toEqual([]);
  expect(await spansWith(1)).toHaveLength(200);
  const some = await spansWith(0.3);
  const traces = new Set(some.map(({ traceId }) => traceId));
  expect(traces.size).toBeGreaterThan(5);
  expect(traces.size).toBeLessThan(95);
  expect(some).toHaveLength(2 * traces.size);
});

test('each end of an order is told apart, and every span has an id of its own', async () => {
  const { url, spans } = await collector();
  const close = openTraces(settings(url), 'here', quiet);
  const [one, two] = [orderOf(1), orderOf(2)];
  const cause = new Error('no answer');
  tracePurchase('lua-stream', one, { kind: 'unknown', orderId: one.id, cause }, 0);
  tracePurchase('lua-stream', two, soldOut, 0);
  const already = { kind: 'refused', reason: 'already-ordered', orderId: one.id } as const;
  tracePurchase('lua-stream', { ...two, id: '99' }, already, 0);
  traceRecording([one, two], new Set([two.id]), 0);
  traceDeadLetter(two, 'stock-short');
  await close();
  const [unknown, refused] = spans;
  expect(
    spans.map(({ attributes, status, parentSpanId }) => [
      ...[attributes['lockstep.outcome'], status?.message, parentSpanId],
    ]),
  ).toEqual([
    ['unknown', 'Error: no answer', undefined],
    ['sold-out', undefined, undefined],
    ['already-ordered', undefined, undefined],
    [undefined, 'It is delivered again.', unknown?.spanId],
    [undefined, undefined, refused?.spanId],
    [undefined, 'stock-short', refused?.spanId],
  ]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
});

const caller = { traceId: 'c0ffee00'.repeat(4), spanId: 'c0ffee00'.repeat(2) };
test.each([
  ['of its trace', `00-${caller.traceId}-${caller.spanId}-01`, [caller]],
  ['of no trace', `00-${'0'.repeat(32)}-${caller.spanId}-01`, []],
  ['of no span', `00-${caller.traceId}-${'0'.repeat(16)}-01`, []],
  ['that cannot be read', `${caller.traceId}-${caller.spanId}`, []],
  ['of a version that must not be', `ff-${caller.traceId}-${caller.spanId}-01`, []],
])('a purchase whose caller sends a traceparent %s', async (_, traceparent, links) => {
  const { url, spans } = await collector();
  const close = openTraces(settings(url), 'here', quiet);
  tracePurchase('lua-stream', orderOf(1), soldOut, 0, traceparent);
  await close();
  expect(spans[0]?.links).toEqual(links);
  expect(spans[0]?.traceId).not.toBe(caller.traceId);
});

test('of more spans than can wait, the rest is dropped, and the log says how many', async () => {
  const { url, spans, sizes } = await collector();
  const lines: object[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const close = openTraces(settings(url), 'here', log);
  for (let user = 1; user <= 15_000; user++)
    tracePurchase('lua-stream', orderOf(user), soldOut, performance.now());
  await waitUntil('all that wait', 20_000, async () => spans.length === 10_000);
  await close();
  expect(Math.max(...sizes)).toBe(1_000);
  expect(lines).toMatchObject([{ event: 'traces-not-sent', spans: 5_000 }]);
});

test('a collector that does not answer keeps neither the next spans nor the end of the process', async () => {
  const { url, spans, sizes, state } = await collector();
  const close = openTraces(settings(url), 'here', quiet);
  state.answers = 'no-answer';
  tracePurchase('lua-stream', orderOf(1), soldOut, 0);
  await waitUntil('the first message', 20_000, async () => sizes.length === 1);
  state.answers = 200;
  tracePurchase('lua-stream', orderOf(2), soldOut, 0);
  await waitUntil('the second one', 20_000, async () => spans.length === 1);
  state.answers = 'no-answer';
  tracePurchase('lua-stream', orderOf(3), soldOut, 0);
  await close();
});
