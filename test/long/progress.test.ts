/**
 * A process that runs and makes no progress: it says so, and it is replaced when a new one could do
 * better. While a store is away it waits, and goes on when the store is back.
 */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  asDatabaseRoot,
  killSession,
  sessionsOf,
} from '../../src/lab/environment/database-root.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { fullDatabase } from '../../src/lab/faults/database.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import type { Order, Voucher } from '../../src/service/domain.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { findRecorded } from '../../src/service/orders/record-orders.ts';
import { quiet, testConnections } from '../support/connections.ts';
import { ownLab, theLab } from '../support/own-lab.ts';
import { luaStreamSale, openLuaStream, someOrder } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';
import {
  firstOf,
  type Line,
  type ServiceProcess,
  startLoggedService,
} from '../support/service-process.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const lab = theLab(null);

const voucherOf = async (connections: Connections): Promise<Voucher> =>
  (await luaStreamSale(connections, { stock: 100 })).voucher;

async function bought(connections: Connections, voucher: Voucher, user: string): Promise<Order> {
  const order = someOrder(voucher.id, user);
  const { kind } = await openLuaStream(connections).sell(order, voucher, freeLease);
  expect(kind).toBe('accepted');
  return order;
}

async function isRecorded(connections: Connections, order: Order): Promise<boolean> {
  const found = await findRecorded(connections.mysql(), [order]);
  return found.get(order.id) === 'recorded';
}

/** A voucher on a Redis of its own. */
async function ownSale() {
  const redis = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: redis.url });
  return { redis, connections, voucher: await voucherOf(connections) };
}

const untilRecorded = (connections: Connections, order: Order) =>
  waitUntil('the order to be recorded', 20_000, () => isRecorded(connections, order));

/** Its worker has recorded an order. */
async function recordingService(settings: Readonly<Record<string, string>> = {}) {
  const sale = await ownSale();
  const service = await startLoggedService({ REDIS_URL: sale.redis.url, ...settings });
  await untilRecorded(sale.connections, await bought(sale.connections, sale.voucher, '1'));
  return { ...sale, ...service };
}

/** With an order in hand, a worker is stuck after PROGRESS_WITHIN_MS and this. */
const batchLimit = { BATCH_LIMIT_MS: '1000' };
/** For so long it records nothing: by then, a worker that is stuck would have been replaced. */
const tooLongMs = { idle: 3_000, withOrders: 4_000 };

const untilSaid = (
  { events }: Pick<ServiceProcess, 'events'>,
  leastMs: number,
  why: Partial<Line> = {},
) =>
  waitUntil('the worker to say that it records nothing', 20_000, () =>
    events('nothing-recorded').some(
      (line) => (line.quietMs ?? 0) >= leastMs && isDeepStrictEqual({ ...line, ...why }, line),
    ),
  );

const onMysql = (statement: string): Promise<unknown> =>
  asDatabaseRoot(lab().dataFolder(lab().database), (root) => root.query(statement));

/** Every session of the service ends. New ones only read, or also write. */
async function newSessions(readOnly: 'ON' | 'OFF'): Promise<void> {
  await onMysql(`SET GLOBAL tx_read_only = ${readOnly}`);
  await asDatabaseRoot(lab().dataFolder(lab().database), async (root) => {
    for (const id of await sessionsOf(root, 'lockstep')) await killSession(root, id);
  });
}

describe('a process that is stuck although its stores answer', () => {
  test('a worker whose read never ends is replaced, and the orders are recorded', async () => {
    const { redis, connections, voucher } = await ownSale();
    const { events } = await startLoggedService({
      REDIS_URL: redis.url,
      ...firstOf('consumer', 'xreadgroup', 'hangs'),
    });
    await untilRecorded(connections, await bought(connections, voucher, '1'));
    expect(events('stuck')).toMatchObject([{ code: 'NO_PROGRESS' }]);
    expect(events('child-exited')).toMatchObject([{ child: 'api-worker-1', code: 75 }]);
  });

  /** As after a failover behind one address: the sessions of before are on a replica now. */
  test('a worker whose sessions take no writes leaves them, and goes on with new ones', async () => {
    const { connections, voucher, events } = await recordingService(batchLimit);
    onTestFinished(() => newSessions('OFF'));
    await newSessions('ON');
    const second = await bought(connections, voucher, '2');
    const isRefused = () => events('order-not-recorded').length > 0;
    await waitUntil('the order to be refused', 20_000, isRefused);
    await onMysql('SET GLOBAL tx_read_only = OFF'); // The sessions of the worker keep it.
    await untilRecorded(connections, second);
    expect(events('child-exited')).toEqual([]);
  });

  test('an instance whose purchases are not answered is not ready, and is replaced', async () => {
    const { url } = await startOwnRedis();
    const { events, baseUrl } = await startLoggedService({
      ...{ REDIS_URL: url, INSTANCES: '1', ORDER_WORKERS: '0' },
      ...firstOf('purchase', 'setrange,evalsha,eval', 'hangs'),
    });
    const ready = async () => (await fetch(`${baseUrl}/readyz`)).status;
    await waitUntil('the instance to listen', 20_000, async () => (await ready()) > 0);
    expect(await ready()).toBe(503);
    await waitUntil('its replacement to be ready', 20_000, async () => (await ready()) === 200);
    expect(events('stuck')).toMatchObject([{ code: 'NO_PROGRESS' }]);
    expect(events('child-exited')).toMatchObject([{ child: 'api-1', code: 75 }]);
  });
});

describe('while a store is away for longer than the limit, nobody is replaced', () => {
  test('Redis: the worker and the instance say so, and go on when it is back', async () => {
    const service = await recordingService({ INSTANCES: '1' });
    const { redis, connections, voucher, events, isReady, isHealthy } = service;
    await waitUntil('the instance to be ready', 20_000, isReady);
    await waitUntil('the worker to be healthy', 20_000, isHealthy);
    await redis.kill();
    await untilSaid(service, tooLongMs.idle, { doesRedisAnswer: false });
    const isSaid = () =>
      events('purchases-not-answered').some(({ doesRedisAnswer }) => doesRedisAnswer === false);
    await waitUntil('the instance to say it', 20_000, isSaid);
    await waitUntil('the worker not to be healthy', 20_000, async () => !(await isHealthy()));
    await redis.start();
    await connections.ready();
    await untilRecorded(connections, await bought(connections, voucher, '2'));
    await waitUntil('the instance to be ready', 20_000, isReady);
    expect(events('child-exited')).toEqual([]);
    expect(events('promotion-loses-orders')).toEqual([]); // No replica can be promoted.
  });

  test('MySQL: the worker reads on and records nothing, so it is not healthy', async () => {
    const { redis, connections, voucher } = await ownSale();
    const proxy = await proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');
    const stores = { REDIS_URL: redis.url, MYSQL_URL: proxy.url };
    const service = await startLoggedService({ ...stores, ...batchLimit });
    await waitUntil('the worker to be healthy', 20_000, service.isHealthy);
    proxy.cut();
    const order = await bought(connections, voucher, '1');
    await untilSaid(service, tooLongMs.withOrders, { doesMysqlAnswer: false });
    await waitUntil('it not to be healthy', 20_000, async () => !(await service.isHealthy()));
    proxy.mend();
    await untilRecorded(connections, order);
    await waitUntil('the worker to be healthy', 20_000, service.isHealthy);
    expect(service.events('child-exited')).toEqual([]);
  });

  test('MySQL has no space: it takes every write but an order, and the worker is not stuck', async () => {
    const service = await recordingService(batchLimit);
    const undo = await fullDatabase(lab().database).inject(lab());
    onTestFinished(undo);
    const second = await bought(service.connections, service.voucher, '2');
    const full = { doesMysqlAnswer: true, isMysqlFull: true };
    await untilSaid(service, tooLongMs.withOrders, full);
    await undo();
    await untilRecorded(service.connections, second);
    expect(service.events('child-exited')).toEqual([]);
  });
});

test('while Redis is being rebuilt, an order worker waits, is not replaced, and goes on afterwards', async () => {
  const { redis, connections, voucher } = await ownSale();
  await agreeOnEpoch(connections, quiet);
  const order = await bought(connections, voucher, '1');
  const { epoch } = connections.saleKeys.of(voucher.id);
  await connections.redis('admin').set(epoch, 'rebuilding:x');
  const service = await startLoggedService({ REDIS_URL: redis.url });
  await untilSaid(service, tooLongMs.idle);
  expect(service.events('waiting-for-epoch')).toHaveLength(1);
  await connections.redis('admin').set(epoch, connections.epoch.value);
  await untilRecorded(connections, order);
  expect(service.events('child-exited')).toEqual([]);
});
