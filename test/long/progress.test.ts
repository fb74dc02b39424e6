/**
 * A process that runs and makes no progress: it says so, and it is replaced when a new one could do
 * better. While a store is away it waits, and goes on when the store is back.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { agreeOnEpoch } from '../../src/connections/epoch.ts';
import type { Order, Voucher } from '../../src/domain.ts';
import {
  asDatabaseRoot,
  killSession,
  sessionsOf,
} from '../../src/lab/environment/database-root.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { fullDatabase } from '../../src/lab/faults/database/full-database.ts';
import { endlessLease } from '../../src/locks/shared/leases.ts';
import { findRecorded } from '../../src/orders/record-orders.ts';
import { quiet, testConnections } from '../support/connections.ts';
import { firstOf } from '../support/first-command.ts';
import { ownLab } from '../support/own-lab.ts';
import { startOwnRedis } from '../support/own-redis.ts';
import { openLuaStream, someOrder, someVoucher } from '../support/sale.ts';
import { startLoggedService } from '../support/service-process.ts';
import { proxyBefore } from '../support/swallowing-proxy.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);
const lease = endlessLease(async () => {});

async function voucherOf(connections: Connections): Promise<Voucher> {
  connections.redis('purchase');
  await connections.ready();
  const voucher = await someVoucher(connections, { stock: 100 });
  await openLuaStream(connections).prepare(voucher);
  return voucher;
}

async function bought(connections: Connections, voucher: Voucher, user: string): Promise<Order> {
  const order = someOrder(voucher.id, user);
  const { kind } = await openLuaStream(connections).sell(order, voucher, lease);
  expect(kind).toBe('accepted');
  return order;
}

async function isRecorded(connections: Connections, order: Order): Promise<boolean> {
  const found = await findRecorded(connections.mysql(), [order]);
  return found.get(order.id) === 'recorded';
}

/** Its worker has recorded an order. */
async function recordingService() {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url });
  const voucher = await voucherOf(connections);
  const { events } = await startLoggedService({ REDIS_URL: url, BATCH_LIMIT_MS: '1000' });
  const first = await bought(connections, voucher, '1');
  await waitUntil('an order to be recorded', 20_000, () => isRecorded(connections, first));
  return { connections, voucher, events };
}

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
    const { url } = await startOwnRedis();
    const connections = testConnections({ REDIS_URL: url });
    const voucher = await voucherOf(connections);
    const { events } = await startLoggedService({
      REDIS_URL: url,
      ...firstOf('consumer', 'xreadgroup', 'hangs'),
    });
    const order = await bought(connections, voucher, '1');
    await waitUntil('the order to be recorded', 20_000, () => isRecorded(connections, order));
    expect(events('stuck')).toMatchObject([{ code: 'NO_PROGRESS' }]);
    expect(events('child-exited')).toMatchObject([{ child: 'api-worker-1', code: 75 }]);
  });

  /** As after a failover behind one address: the sessions of before are on a replica now. */
  test('a worker whose sessions take no writes leaves them, and goes on with new ones', async () => {
    const { connections, voucher, events } = await recordingService();
    onTestFinished(() => newSessions('OFF'));
    await newSessions('ON');
    const second = await bought(connections, voucher, '2');
    const isRefused = () => events('order-not-recorded').length > 0;
    await waitUntil('the order to be refused', 20_000, isRefused);
    await onMysql('SET GLOBAL tx_read_only = OFF'); // The sessions of the worker keep it.
    await waitUntil('the order to be recorded', 20_000, () => isRecorded(connections, second));
    expect(events('child-exited')).toEqual([]);
  });

  test('an instance whose purchases are not answered is not ready, and is replaced', async () => {
    const { url } = await startOwnRedis();
    const { events, baseUrl } = await startLoggedService({
      REDIS_URL: url,
      ...firstOf('purchase', 'setrange,evalsha,eval', 'hangs'),
      INSTANCES: '1',
      ORDER_WORKERS: '0',
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
    const redis = await startOwnRedis();
    const connections = testConnections({ REDIS_URL: redis.url });
    const voucher = await voucherOf(connections);
    const { events, isReady, isHealthy } = await startLoggedService({
      REDIS_URL: redis.url,
      INSTANCES: '1',
    });
    const first = await bought(connections, voucher, '1');
    await waitUntil('an order to be recorded', 20_000, () => isRecorded(connections, first));
    await waitUntil('the instance to be ready', 20_000, isReady);
    await waitUntil('the worker to be healthy', 20_000, isHealthy);
    await redis.kill();
    const seen = (event: string, leastMs = 0) =>
      events(event).some(
        ({ doesRedisAnswer, quietMs = 0 }) => doesRedisAnswer === false && quietMs >= leastMs,
      );
    // By then it would have been replaced.
    await waitUntil('the worker to say that it records nothing', 20_000, () =>
      seen('nothing-recorded', 5_000),
    );
    await waitUntil('the instance to say it', 20_000, () => seen('purchases-not-answered'));
    await waitUntil('the worker not to be healthy', 5_000, async () => !(await isHealthy()));
    await redis.start();
    await connections.ready();
    const second = await bought(connections, voucher, '2');
    await waitUntil('the next order to be recorded', 5_000, () => isRecorded(connections, second));
    await waitUntil('the instance to be ready', 5_000, isReady);
    expect(events('child-exited')).toEqual([]);
    expect(events('promotion-loses-orders')).toEqual([]); // No replica can be promoted.
  });

  test('MySQL: the worker reads on and records nothing, so it is not healthy', async () => {
    const { url } = await startOwnRedis();
    const connections = testConnections({ REDIS_URL: url });
    const voucher = await voucherOf(connections);
    const proxy = await proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');
    const { events, isHealthy } = await startLoggedService({
      REDIS_URL: url,
      MYSQL_URL: proxy.url,
      BATCH_LIMIT_MS: '1000',
    });
    await waitUntil('the worker to be healthy', 20_000, isHealthy);
    proxy.cut();
    const order = await bought(connections, voucher, '1');
    await waitUntil('the worker to say that it records nothing', 20_000, () =>
      events('nothing-recorded').some(
        ({ doesMysqlAnswer, quietMs = 0 }) => doesMysqlAnswer === false && quietMs >= 5_000,
      ),
    );
    await waitUntil('the worker not to be healthy', 5_000, async () => !(await isHealthy()));
    proxy.mend();
    await waitUntil('the order to be recorded', 20_000, () => isRecorded(connections, order));
    await waitUntil('the worker to be healthy', 5_000, isHealthy);
    expect(events('child-exited')).toEqual([]);
  });

  test('MySQL has no space: it takes every write but an order, and the worker is not stuck', async () => {
    const { connections, voucher, events } = await recordingService();
    const undo = await fullDatabase(lab().database).inject(lab());
    onTestFinished(undo);
    const second = await bought(connections, voucher, '2');
    // By then it would have been replaced.
    await waitUntil('the worker to say that it records nothing', 20_000, () =>
      events('nothing-recorded').some(
        ({ doesMysqlAnswer, isMysqlFull, quietMs = 0 }) =>
          doesMysqlAnswer === true && isMysqlFull === true && quietMs >= 5_000,
      ),
    );
    await undo();
    await waitUntil('the order to be recorded', 20_000, () => isRecorded(connections, second));
    expect(events('child-exited')).toEqual([]);
  });
});

test('while Redis is being rebuilt, an order worker waits, is not replaced, and goes on afterwards', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url });
  const voucher = await voucherOf(connections);
  await agreeOnEpoch(connections, quiet);
  const order = await bought(connections, voucher, '1');
  const { epoch } = connections.saleKeys.of(voucher.id);
  await connections.redis('admin').set(epoch, 'rebuilding:x');
  const { events } = await startLoggedService({ REDIS_URL: url });
  // By then it would have been replaced.
  await waitUntil('the worker to say that it records nothing', 20_000, () =>
    events('nothing-recorded').some(({ quietMs = 0 }) => quietMs >= 5_000),
  );
  expect(events('waiting-for-epoch')).toHaveLength(1);
  await connections.redis('admin').set(epoch, connections.epoch.value);
  await waitUntil('the order to be recorded', 5_000, () => isRecorded(connections, order));
  expect(events('child-exited')).toEqual([]);
});
