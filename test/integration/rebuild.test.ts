/**
 * Redis rebuilt from MySQL and the stream, on real stores: nothing is sold meanwhile, no order that
 * a store knows is lost, exactly the stock is sold, and once to each user.
 */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import type { Order, Voucher } from '../../src/service/domain.ts';
import {
  type OnRebuildStep,
  type RebuildStep,
  rebuild,
} from '../../src/service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { recordBatch } from '../../src/service/orders/record-orders.ts';
import { workOrders } from '../../src/service/orders/work-orders.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import type { OrderQueue } from '../../src/service/queues/order-queue.ts';
import { installGate } from '../../src/service/trace/checkpoints.ts';
import { quiet } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { type OwnStores, openProcess, ownStores, startedProcess } from '../support/own-stores.ts';
import {
  buyAs,
  buyOrder,
  inMysql,
  onSale,
  someOrder,
  startWorker,
  usersUpTo,
  workUntilEmpty,
} from '../support/sale.ts';

const stock = 8;
const shards = { SALE_SHARDS: '2' };
let stores: OwnStores;
let connections: Connections;
let voucher: Voucher;
let keys: ShardKeys;
/** Of users 1 to 3, in MySQL; and of 4 and 5, in the stream. */
let recorded: readonly Order[];
let queued: readonly Order[];

beforeEach(async () => {
  stores = { ...(await ownStores()), ...shards };
  connections = await startedProcess(stores);
  voucher = await onSale(connections, stock);
  keys = connections.saleKeys.of(voucher.id);
  recorded = await buyAs(connections, voucher, usersUpTo(3));
  await workUntilEmpty(connections);
  queued = await buyAs(connections, voucher, usersUpTo(2, 4));
});

const redis = () => connections.redis('admin');
const buy = (by: Connections, user: number, of = voucher) =>
  buyOrder(by, of, someOrder(of.id, String(user)));
const stockLeft = () => redis().hget(keys.voucher(voucher.id), 'stock');
/** No instance remembers a voucher as sold out, so there is nothing to wait for. */
const quickRebuild = (by: Connections, onStep?: OnRebuildStep) => rebuild(by, onStep, 100);
const notReady = { kind: 'refused', reason: 'not-ready' };

/** An instance hears of a new epoch when a purchase is refused. */
const untilItSells = (by: Connections, user: number) =>
  waitUntil('a sale', 20_000, async () => (await buy(by, user)).kind === 'accepted');

/** Everybody buys, in two processes; then exactly the stock is sold. */
async function expectSoldOnce(): Promise<void> {
  const others = [connections, await startedProcess(stores)];
  for (const other of others) await buyAs(other, voucher, usersUpTo(2 * stock));
  const isSoldOut = async () => (await stockLeft()) === '0';
  await waitUntil('the last sale', 20_000, async () => {
    for (const other of others) await buyAs(other, voucher, usersUpTo(2 * stock));
    return isSoldOut();
  });
  await workUntilEmpty(connections);
  const { confirmed, failed, users } = await inMysql(voucher, connections);
  expect([confirmed.length, users, failed.length]).toEqual([stock, stock, 0]);
  const ids = confirmed.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(recorded.map(({ id }) => id)));
  expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
}

describe('a Redis that has lost everything', () => {
  test('sells nothing before its rebuild, not even a new voucher', async () => {
    await redis().flushdb();
    for (const user of [1, 4, 9]) expect(await buy(connections, user)).toMatchObject(notReady);
    const next = await onSale(connections, 1);
    expect(await buy(connections, 9, next)).toMatchObject(notReady);
  });

  test('has the buyers of MySQL again, and sells what is left of the stock', async () => {
    const other = await onSale(connections, 2);
    await redis().flushdb();
    const { after, restored, hadLostData } = await quickRebuild(connections);
    expect([after.verdict, hadLostData]).toEqual(['consistent', true]);
    expect(restored).toMatchObject([
      { voucherId: voucher.id, recorded: 3, inFlight: 0 },
      { voucherId: other.id, recorded: 0, inFlight: 0 },
    ]);
    expect(await stockLeft()).toBe('5');
    await untilItSells(connections, 9);
    for (const { id: orderId, userId } of recorded)
      expect(await buy(connections, Number(userId))).toEqual({
        ...{ kind: 'refused', reason: 'already-ordered', orderId },
      });
    expect(await buy(connections, 1, other)).toMatchObject({ kind: 'accepted' });
    await expectSoldOnce();
  });
});

describe('a Redis that has lost its sales, and kept the stream', () => {
  test('has the buyers of the stream again too, and their orders are recorded', async () => {
    await redis().del(keys.voucher(voucher.id), keys.buyers(voucher.id), keys.queued);
    const { after, restored } = await quickRebuild(connections);
    expect(after).toMatchObject({ verdict: 'consistent' });
    expect(restored).toMatchObject([{ recorded: 3, inFlight: 2 }]);
    expect(await stockLeft()).toBe('3');
    const next = await startedProcess(stores);
    for (const { id: orderId, userId, requestId } of queued) {
      expect(await buy(next, Number(userId))).toMatchObject({ reason: 'already-ordered', orderId });
      const same = { ...someOrder(voucher.id, userId), requestId };
      expect(await buyOrder(next, voucher, same)).toMatchObject({ kind: 'accepted', orderId });
    }
    await expectSoldOnce();
    const ids = (await inMysql(voucher, connections)).confirmed.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(queued.map(({ id }) => id)));
  });

  test('records an order once that was recorded and not acknowledged', async () => {
    const stop = startWorker(await openProcess(stores));
    await waitUntil('the record', 20_000, async () => {
      return (await inMysql(voucher, connections)).confirmed.length === 5;
    });
    await stop();
    for (const { id, userId, requestId } of queued) {
      const fields = ['voucherId', voucher.id, 'userId', userId, 'requestId', requestId];
      await redis().xadd(keys.orders, '*', 'orderId', id, ...fields);
    }
    await redis().del(keys.voucher(voucher.id), keys.buyers(voucher.id));
    expect(await quickRebuild(connections)).toMatchObject({
      restored: [{ recorded: 5, inFlight: 0 }],
    });
    expect(await stockLeft()).toBe('3');
    await expectSoldOnce();
  });
});

describe('while Redis is rebuilt', () => {
  /** As after a failover to a replica that had not seen the last sales. */
  async function loseSales(): Promise<void> {
    await redis().hdel(keys.buyers(voucher.id), '1', '2');
    await redis().hincrby(keys.voucher(voucher.id), 'stock', 2);
  }

  test('every purchase is refused, and afterwards instances sell by themselves', async () => {
    await loseSales();
    const started: Record<string, Connections> = { before: await startedProcess(stores) };
    const answers: unknown[] = [];
    const onStep = async (step: RebuildStep) => {
      if (step === 'open') return;
      started[step] = await startedProcess(stores);
      for (const instance of Object.values(started))
        for (const user of [1, 9]) answers.push(await buy(instance, user));
    };
    await quickRebuild(connections, onStep);
    expect(answers.length).toBeGreaterThan(10);
    for (const answer of answers) expect(answer).toMatchObject(notReady);
    for (const [index, instance] of Object.values(started).slice(0, 2).entries())
      await untilItSells(instance, 20 + index);
    await expectSoldOnce();
  });

  test('instances forget that the voucher was sold out, before the units of lost orders are sold', async () => {
    await buyAs(connections, voucher, usersUpTo(3, 6));
    const until = performance.now() + 300;
    while (performance.now() < until) await buy(connections, 50);
    await redis().flushdb();
    await rebuild(await openProcess(stores));
    const answers: unknown[] = [];
    await waitUntil('a sale', 20_000, async () => {
      const outcome = await buy(connections, 51);
      answers.push(outcome);
      return outcome.kind === 'accepted';
    });
    for (const answer of answers) expect(answer).not.toMatchObject({ reason: 'sold-out' });
    await expectSoldOnce();
  });

  test('the orders that a worker still has in hand are not recorded', async () => {
    await redis().flushdb();
    const inHand = queued.map((order) => ({ order, attempt: 1 }));
    const settled: string[] = [];
    const { promise: taken, resolve: takeUp } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const stalled: OrderQueue = {
      keepsUnsettled: true,
      publish: async () => {},
      depth: async () => 0,
      consume: async (handle) => {
        begin();
        await taken;
        settled.push(...(await handle(inHand)));
        stop.abort();
      },
    };
    const stop = new AbortController();
    // It began before Redis lost its epoch.
    for (const shard of connections.saleKeys.shards)
      await redis().set(shard.epoch, connections.epoch.value);
    const worker = await startedProcess(stores);
    const working = workOrders(worker, stalled, quiet, stop.signal);
    await begun; // In the epoch that ends now.
    await quickRebuild(connections);
    await buyAs(await startedProcess(stores), voucher, [4]);
    takeUp();
    await working;
    expect(settled).toEqual([]);
    await expectSoldOnce();
  });

  test('a transaction that records orders is waited for, and its orders are found', async () => {
    await redis().flushdb();
    const [order] = queued as [Order];
    const steps: RebuildStep[] = [];
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
    let isRecording = false;
    installGate(async (name, { id } = order) => {
      if (name !== 'recording' || id !== order.id) return;
      isRecording = true;
      await mayCommit;
    });
    onTestFinished(() => installGate(async () => {}));
    const epoch = connections.epoch.value;
    const records = { pool: connections.mysql(), vouchers: openVouchers(connections), epoch };
    const recording = recordBatch(records, [order]);
    await waitUntil('the insert', 20_000, () => isRecording);
    const rebuilding = quickRebuild(await openProcess(stores), (step) => void steps.push(step));
    await waitUntil('the rebuild to wait, or to go on', 20_000, async () => {
      const [rows] = await connections.mysql().query('SHOW PROCESSLIST');
      const waits = (rows as { Info: string | null }[]).some(({ Info }) =>
        Info?.startsWith('UPDATE store_epoch'),
      );
      return waits || steps.includes('alone');
    });
    expect(steps).toEqual(['frozen']);
    commit();
    await recording;
    await rebuilding;
    expect(await stockLeft()).toBe('4');
    expect(await buy(await startedProcess(stores), 4)).toMatchObject({ orderId: order.id });
  });

  test('a worker goes on with the new epoch, without a restart', async () => {
    const stop = startWorker(connections);
    const hasRecorded = async () => (await inMysql(voucher, connections)).users === 5;
    await waitUntil('the worker to record in the old epoch', 20_000, hasRecorded);
    await quickRebuild(await openProcess(stores));
    const next = await startedProcess(stores);
    await expect(buyAs(next, voucher, [9])).resolves.toHaveLength(1);
    const isRecorded = async () => (await inMysql(voucher, next)).users === 6;
    await waitUntil('the order to be recorded', 20_000, isRecorded);
    await stop();
  });
});

describe('a rebuild that does not come to its end', () => {
  test('leaves the sale closed, lets processes start, and is repeated', async () => {
    await redis().flushdb();
    const interrupt = (step: RebuildStep) => {
      if (step === 'read') throw new Error('killed');
    };
    await expect(quickRebuild(connections, interrupt)).rejects.toThrow('killed');
    await expect(reconcile(connections)).rejects.toMatchObject({ code: 'REBUILD_UNFINISHED' });
    const started = await startedProcess(stores);
    for (const user of [1, 9]) expect(await buy(started, user)).toMatchObject(notReady);
    expect(await quickRebuild(connections)).toMatchObject({ after: { verdict: 'consistent' } });
    await expectSoldOnce();
  });

  test('writes nothing more once Redis is emptied again', async () => {
    const empty = async (step: RebuildStep) => {
      if (step === 'read') await redis().flushdb();
    };
    await expect(quickRebuild(connections, empty)).rejects.toMatchObject({ code: 'DATA_CHANGED' });
    expect(await redis().exists(keys.voucher(voucher.id), keys.buyers(voucher.id))).toBe(0);
  });

  test('because a failover undid its freeze is repeated, and keeps what was sold meanwhile', async () => {
    const before = await redis().get(keys.epoch);
    const failOver = async (step: RebuildStep) => {
      if (step !== 'alone') return;
      for (const { epoch } of connections.saleKeys.shards) await redis().set(epoch, before ?? '');
    };
    const cut = quickRebuild(connections, failOver);
    await expect(cut).rejects.toMatchObject({ code: 'DATA_CHANGED' });
    expect(await buy(connections, 9)).toMatchObject({ kind: 'accepted' });
    const started = await startedProcess(stores);
    expect(await buy(started, 10)).toMatchObject(notReady);
    expect(await quickRebuild(connections)).toMatchObject({ after: { verdict: 'consistent' } });
    await workUntilEmpty(started);
    expect((await inMysql(voucher, started)).users).toBe(6);
    await expectSoldOnce();
  });

  test('excludes a second one', async () => {
    const second = await openProcess(stores);
    const onStep = async (step: RebuildStep) => {
      if (step !== 'frozen') return;
      await expect(quickRebuild(second)).rejects.toMatchObject({ code: 'REBUILD_RUNNING' });
    };
    expect(await quickRebuild(connections, onStep)).toMatchObject({
      after: { verdict: 'consistent' },
    });
  });
});

test('an instance is ready only while Redis has the data that it sells', async () => {
  const { app } = await openInstance(connections);
  const status = async () => (await app.request('/readyz')).status;
  expect(await status()).toBe(200);
  await redis().flushdb();
  await expect.poll(status).toBe(503);
  await quickRebuild(connections);
  await expect.poll(status).toBe(200);
});

test('a Redis of another service is not touched', async () => {
  await redis().set(keys.epoch, 'of-another-service');
  await expect(quickRebuild(connections)).rejects.toMatchObject({ code: 'EPOCHS_DIFFER' });
  expect(await redis().get(keys.epoch)).toBe('of-another-service');
  await expect(agreeOnEpoch(connections, quiet)).rejects.toMatchObject({ code: 'EPOCHS_DIFFER' });
});
