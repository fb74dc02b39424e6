/** Traces: what a collector of OpenTelemetry is sent, and what happens without it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { Order } from '../../src/domain.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { openTraces, tracePurchase, traceRecording } from '../../src/trace/traces.ts';
import { buy, deploymentSecret, putOnSale, tokenFor } from '../support/client.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { ownStores } from '../support/own-stores.ts';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
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

/** With its spans, in the order in which they came. Its answers have this status. */
async function collector() {
  const spans: SentSpan[] = [];
  const state = { status: 200, messages: 0 };
  const server = createServer(async (request, answer) => {
    state.messages += 1;
    if (state.status === 200) spans.push(...spansOf((await json(request)) as Message));
    answer.writeHead(state.status).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  return { url, spans, state };
}

async function tracedService(url: string) {
  const { events, port } = await startLoggedService({
    ...(await ownStores()),
    ...{ INSTANCES: '1', TRACES_URL: url, BATCH_GATHER_MS: '0' },
  });
  const baseUrl = `http://127.0.0.1:${port}`;
  await waitUntil('the service to be ready', 20_000, () =>
    fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const operator = await tokenFor('1', 'operator', deploymentSecret);
  const voucherId = await putOnSale({}, { baseUrl, token: operator });
  const purchase = async (userId: string, headers: Readonly<Record<string, string>>) => {
    const token = await tokenFor(userId, 'user', deploymentSecret);
    return buy(voucherId, userId, { authorization: `Bearer ${token}`, ...headers }, baseUrl);
  };
  return { events, voucherId, purchase };
}

const longAgo = (span: SentSpan) => Date.now() - Number(span.startTimeUnixNano) / 1e6;

test('a purchase is one trace, from its request to its row, and its request id is its name', async () => {
  const { url, spans } = await collector();
  const { voucherId, purchase } = await tracedService(url);
  const traceId = 'c0ffee00'.repeat(4);
  const { id } = await purchase('7', { 'x-request-id': traceId });
  await waitUntil('both spans', 10_000, async () => spans.length === 2);
  const [sold, recorded] = ['purchase', 'record order'].map((named) =>
    spans.find(({ name }) => name === named),
  );
  if (!sold || !recorded) throw new Error('a span is missing');
  const attributes = { 'lockstep.order': id, 'lockstep.voucher': voucherId };
  expect(sold).toMatchObject({ traceId, attributes, instance: 'api-1' });
  expect(sold.attributes).toMatchObject({ 'lockstep.outcome': 'accepted' });
  expect(sold).not.toHaveProperty('parentSpanId');
  expect(recorded).toMatchObject({ traceId, attributes, instance: 'api-worker-1' });
  expect(recorded.parentSpanId).toBe(sold.spanId);
  expect(recorded).not.toHaveProperty('status');
  for (const span of [sold, recorded]) {
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThan(BigInt(span.startTimeUnixNano));
    expect(longAgo(span)).toBeGreaterThan(0);
    expect(longAgo(span)).toBeLessThan(60_000);
  }

  const key = { 'idempotency-key': 'mine' };
  const first = await purchase('8', key);
  expect((await purchase('8', key)).id).toBe(first.id);
  await waitUntil('the spans of both', 10_000, async () => spans.length === 5);
  const [begun, ...children] = spans.slice(2).toSorted((one) => (one.parentSpanId ? 1 : -1));
  for (const { traceId: inTrace, parentSpanId, attributes: about } of children)
    expect([inTrace, parentSpanId, about['lockstep.order']]).toEqual([
      ...[begun?.traceId, begun?.spanId],
      first.id,
    ]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5);
});

test('while the collector is away, purchases go on, and the log says how many spans are lost', async () => {
  const { url, spans, state } = await collector();
  const { events, purchase } = await tracedService(url);
  state.status = 503;
  expect((await purchase('7', {})).httpStatus).toBe(202);
  const lost = () =>
    events('traces-not-sent').reduce(
      (sum, line) => sum + Number((line as object as Lost).spans),
      0,
    );
  await waitUntil('the log', 10_000, async () => lost() === 2);
  state.status = 200;
  expect((await purchase('8', {})).httpStatus).toBe(202);
  await waitUntil('the next spans', 10_000, async () => spans.length === 2);
});

interface Lost {
  readonly spans: number;
}

const orderOf = (userId: number): Order => ({
  ...{ id: `1${userId}`, voucherId: '9', userId: `${userId}`, requestId: 'first' },
});

/** Of a hundred purchases, with this part of them traced. */
async function spansWith(TRACES_RATIO: number): Promise<SentSpan[]> {
  const { url, spans } = await collector();
  const log = pino({ level: 'silent' });
  const close = openTraces({ TRACES_URL: url, TRACES_RATIO }, 'here', log);
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

test('an unknown outcome, a refusal, and an order that is delivered again are told apart', async () => {
  const { url, spans } = await collector();
  const close = openTraces({ TRACES_URL: url, TRACES_RATIO: 1 }, 'here', pino({ level: 'silent' }));
  const [one, two] = [orderOf(1), orderOf(2)];
  const cause = new Error('no answer');
  tracePurchase('lua-stream', one, { kind: 'unknown', orderId: one.id, cause }, 0);
  tracePurchase('lua-stream', two, { kind: 'refused', reason: 'sold-out' }, 0);
  traceRecording([one, two], new Set([two.id]), 0);
  await close();
  expect(
    spans.map(({ attributes, status }) => [attributes['lockstep.outcome'], status?.message]),
  ).toEqual([
    ['unknown', 'Error: no answer'],
    ['sold-out', undefined],
    [undefined, 'It is delivered again.'],
    [undefined, undefined],
  ]);
});

test('a collector that does not answer costs no memory without end, and no purchase', async () => {
  const { url, spans, state } = await collector();
  const lines: object[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  state.status = 503;
  const close = openTraces({ TRACES_URL: url, TRACES_RATIO: 1 }, 'here', log);
  const refused = { kind: 'refused', reason: 'sold-out' } as const;
  for (let user = 1; user <= 10_100; user++) tracePurchase('lua-stream', orderOf(user), refused, 0);
  await close();
  expect(lines).toMatchObject([{ event: 'traces-not-sent', spans: 10_100 }]);
  expect([spans.length, state.messages]).toEqual([0, 1]);
});
