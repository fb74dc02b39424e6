/**
 * The stream of an order's states: for its owner only, up to the final state, whatever happens
 * meanwhile, and at the cost of one query for all who wait.
 */
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { Order } from '../../src/service/domain.ts';
import { commonHeaders } from '../../src/service/http/headers.ts';
import { signToken } from '../../src/service/http/tokens.ts';
import { deadLetter } from '../../src/service/orders/dead-letters.ts';
import { recordBatch } from '../../src/service/orders/record-orders.ts';
import { listen } from '../../src/service/processes/api-server.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import {
  arrives,
  call,
  deploymentSecret,
  openStream,
  type Stream,
  statuses,
  tokenFor,
} from '../support/client.ts';
import { callsOf, quietRedis, testConnections } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { ownLab } from '../support/own-lab.ts';
import { openProcess } from '../support/own-stores.ts';
import {
  buyAs,
  onSale,
  openStreamQueue,
  someOrder,
  someVoucher,
  startWorker,
  usersUpTo,
} from '../support/sale.ts';
import { serviceEntry, startService } from '../support/service-process.ts';
import { proxyBefore } from '../support/test-proxy.ts';

/** An instance in this process; its orders are recorded by the test, and by nobody else. */
async function instance(changes: Readonly<Record<string, string>> = {}) {
  const connections = testConnections({ REDIS_URL: quietRedis(), ...changes });
  const { app } = await openInstance(connections);
  const address = { host: '127.0.0.1', port: 0, shared: false };
  const server = await listen(app, address, commonHeaders('api-1'));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { connections, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** An order that is queued, and in no stream: it stays so until the test settles it. */
async function queuedOrder(connections: Connections, userId: string): Promise<Order> {
  const { id } = await someVoucher(connections);
  const order = someOrder(id, userId);
  await connections.redis('admin').hset(connections.saleKeys.of(id).queued, order.id, note(order));
  onTestFinished(() => leaveQueue(connections, [order]));
  return order;
}
const note = ({ voucherId, userId }: Order): string => `${voucherId}:${userId}`;

/** The order of user 7, at an instance, and a client that has heard that it is queued. */
async function waiting() {
  const { connections, baseUrl } = await instance();
  const order = await queuedOrder(connections, '7');
  const stream = await openStream(order.id, '7', { baseUrl });
  await arrives(stream, ['queued']);
  return { connections, order, stream };
}

async function ends(stream: Stream, wanted: readonly string[]): Promise<void> {
  expect(await stream.ended).toBe('in order');
  expect(statuses(stream)).toEqual(wanted);
}

/** In one step for all orders, which must be of one shard. */
async function leaveQueue(connections: Connections, orders: readonly Order[]): Promise<void> {
  const { queued } = connections.saleKeys.of(orders[0]?.voucherId ?? '');
  await connections.redis('admin').hdel(queued, ...orders.map(({ id }) => id));
}

async function record(connections: Connections, orders: readonly Order[]): Promise<void> {
  await recordBatch({ pool: connections.mysql(), vouchers: openVouchers(connections) }, orders);
  await leaveQueue(connections, orders);
}

test('each state passes nginx as soon as it is known, comments come meanwhile, and the final one ends the stream', async () => {
  const lab = await openProcess({});
  const order = await queuedOrder(lab, '7');
  const stream = await openStream(order.id, '7');
  await arrives(stream, ['queued']);
  expect(stream.answer.status).toBe(200);
  const headers = ['content-type', 'cache-control', 'x-accel-buffering'];
  const found = headers.map((name) => stream.answer.headers.get(name));
  expect(found).toEqual(['text/event-stream', 'no-store', null]); // The last is for nginx.
  await waitUntil('a comment', 30_000, () => /^: /m.test(stream.text()));
  await record(lab, [order]);
  await ends(stream, ['queued', 'confirmed']);
  const { id, voucherId } = order;
  const view = JSON.stringify({ id, voucherId, status: 'confirmed' });
  expect(stream.text()).toContain(`event: status\ndata: ${view}\nid: confirmed\n`);
});

test('a purchase is followed to its end, also when its worker ends and another one starts', async () => {
  const { connections, baseUrl } = await instance({ BATCH_GATHER_MS: '0', CLAIM_IDLE_MS: '100' });
  const voucher = await onSale(connections, 1);
  const [order] = (await buyAs(connections, voucher, [7])) as [Order];
  const stream = await openStream(order.id, '7', { baseUrl });
  await arrives(stream, ['queued']);
  const dies = new AbortController();
  const keep = async () => {
    dies.abort(); // With the order in hand, and nothing recorded.
    return new Set<string>();
  };
  await openStreamQueue(connections).consume(keep, dies.signal);
  expect(statuses(stream)).toEqual(['queued']);
  const stop = startWorker(connections);
  await stream.ended.finally(stop);
  expect(statuses(stream)).toEqual(['queued', 'confirmed']);
});

test('an order that fails ends its stream with the reason', async () => {
  const { connections, order, stream } = await waiting();
  await deadLetter(connections, order, { reason: 'undeliverable', deliveries: 5 });
  await leaveQueue(connections, [order]);
  await ends(stream, ['queued', 'failed']);
  expect(stream.text()).toContain('"reason":"undeliverable"');
});

test('an order that is final has a stream of one event; a client that knows it is told not to come back', async () => {
  const { connections, baseUrl } = await instance();
  const order = await queuedOrder(connections, '7');
  await record(connections, [order]);
  const stream = await openStream(order.id, '7', { baseUrl });
  await ends(stream, ['confirmed']);
  for (const [id, status] of [['confirmed', 204] as const, ['queued', 200] as const]) {
    const headers = { 'last-event-id': id };
    expect((await openStream(order.id, '7', { baseUrl, headers })).answer.status).toBe(status);
  }
});

test('only the owner may see it, as with GET /orders/{id}', async () => {
  const { connections, baseUrl } = await instance();
  const order = await queuedOrder(connections, '7');
  const codeOf = async (id: string, token: string | undefined) => {
    const options = token === undefined ? { baseUrl } : { baseUrl, token };
    const answer = await call(`/orders/${id}/events`, options);
    return [answer.status, ((await answer.json()) as { code: string }).code];
  };
  expect(await codeOf(order.id, undefined)).toEqual([401, 'unauthenticated']);
  expect(await codeOf(order.id, await tokenFor('8'))).toEqual([404, 'unknown-order']);
  expect(await codeOf('999999999999', await tokenFor('7'))).toEqual([404, 'unknown-order']);
  expect(await codeOf(order.id, await tokenFor('7', 'operator'))).toEqual([403, 'forbidden']);
  expect(await codeOf('007', await tokenFor('7'))).toEqual([400, 'invalid-request']);
});

test('all who wait cost MySQL nothing while they wait, and not one query each when their orders are recorded', async () => {
  const { connections, baseUrl } = await instance();
  const orders: Order[] = [];
  for (const user of usersUpTo(60)) orders.push(await queuedOrder(connections, String(user)));
  const streams = await Promise.all(
    orders.map(({ id, userId }) => openStream(id, userId, { baseUrl })),
  );
  await Promise.all(streams.map((stream) => arrives(stream, ['queued'])));
  const own = await openProcess({ REDIS_URL: quietRedis() });
  let queries = 0;
  connections.mysql().on('acquire', () => {
    queries += 1;
  });
  const looks = () => callsOf(own.redis('admin'), 'hmget'); // Several fields of a hash at once.
  const before = await looks();
  const fiveMore = async () => (await looks()) >= before + 5;
  await waitUntil('five looks at the queue', 20_000, fiveMore);
  expect(queries).toBe(0);
  await record(own, orders);
  for (const stream of streams) await ends(stream, ['queued', 'confirmed']);
  expect(queries).toBeLessThan(10); // One, where all are recorded between two looks.
});

test('an instance has a limit of streams that wait, and a client that leaves makes place', async () => {
  const { connections, baseUrl } = await instance({ ORDER_STREAMS: '2' });
  const order = await queuedOrder(connections, '7');
  const statusOf = async () => (await openStream(order.id, '7', { baseUrl })).answer.status;
  const first = await openStream(order.id, '7', { baseUrl });
  const head = { method: 'HEAD', token: await tokenFor('7'), baseUrl };
  for (let times = 0; times < 3; times++)
    expect((await call(`/orders/${order.id}/events`, head)).status).toBe(200); // Takes no place.
  expect(await statusOf()).toBe(200);
  const refused = await openStream(order.id, '7', { baseUrl });
  await refused.ended;
  expect(refused.answer.status).toBe(503);
  expect(refused.text()).toContain('"too-many-streams"');
  expect(refused.answer.headers.get('retry-after')).toBe('5');
  const final = await queuedOrder(connections, '7');
  await record(connections, [final]);
  expect((await openStream(final.id, '7', { baseUrl })).answer.status).toBe(200); // Needs no place.
  first.leave();
  await waitUntil('a place', 20_000, async () => (await statusOf()) === 200);
});

test('one user has five streams at most', async () => {
  const { connections, baseUrl } = await instance();
  const [own, other] = [await queuedOrder(connections, '7'), await queuedOrder(connections, '8')];
  const statusesOfUser = [];
  for (let times = 0; times < 6; times++)
    statusesOfUser.push((await openStream(own.id, '7', { baseUrl })).answer.status);
  expect(statusesOfUser).toEqual([200, 200, 200, 200, 200, 503]);
  expect((await openStream(other.id, '8', { baseUrl })).answer.status).toBe(200);
});

test('a stream ends with the token that it was opened with', async () => {
  const { connections, baseUrl } = await instance();
  const order = await queuedOrder(connections, '7');
  const secret = connections.config.TOKEN_SECRET;
  const token = await signToken(secret, '7', 'user', 6);
  const stream = await openStream(order.id, '7', { baseUrl, token });
  await ends(stream, ['queued']);
});

test('a stream goes on after Redis was away', async () => {
  const proxy = await proxyBefore(quietRedis());
  const { connections, baseUrl } = await instance({ REDIS_URL: proxy.url });
  const own = await openProcess({ REDIS_URL: quietRedis() });
  const order = await queuedOrder(own, '7');
  const stream = await openStream(order.id, '7', { baseUrl });
  await arrives(stream, ['queued']);
  proxy.cut();
  await expect.poll(() => connections.redis('admin').status).not.toBe('ready');
  await record(own, [order]);
  proxy.mend();
  await ends(stream, ['queued', 'confirmed']);
});

test('the stream of an order that no store has any more ends', async () => {
  const { connections, order, stream } = await waiting();
  await leaveQueue(connections, [order]);
  await ends(stream, ['queued']);
});

test('the end of an order of another user that has the same id is not told', async () => {
  const { connections, order, stream } = await waiting();
  await record(connections, [{ ...order, userId: '8' }]);
  await ends(stream, ['queued']);
});

test('a stopping instance ends its streams, so that it drains', async () => {
  const service = await startService(serviceEntry, {
    MYSQL_URL: ownLab.environment['MYSQL_URL'] ?? '',
    REDIS_URL: quietRedis(),
    TOKEN_SECRET: deploymentSecret,
    DRAIN_MS: '60000', // Longer than the test waits.
  });
  const connections = await openProcess({ REDIS_URL: quietRedis() });
  const order = await queuedOrder(connections, '7');
  const token = await tokenFor('7', 'user', deploymentSecret);
  const stream = await openStream(order.id, '7', { baseUrl: service.baseUrl, token });
  await arrives(stream, ['queued']);
  expect(await service.stop()).toBe(0);
  await ends(stream, ['queued']);
});
