/** ORDER_DURABILITY: the service checks that Redis keeps it, and `replica` waits for one. */
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnDurability } from '../../src/service/connections/durability.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import { luaBuckets } from '../../src/service/inventory/lua-buckets.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { changesOf } from '../../src/service/orders/change-journal.ts';
import { changeSale, finishChanges } from '../../src/service/orders/voucher-changes.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { withCode } from '../support/basics.ts';
import { deploymentSecret, tokenFor } from '../support/client.ts';
import { callsOf, quiet, readyConnections } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownDatabase, ownStores } from '../support/own-stores.ts';
import { luaStreamSale, openLuaStream, someOrder, someVoucher } from '../support/sale.ts';
import { startOwnRedis, startOwnRedises } from '../support/servers.ts';

/** It promises `always`, unless it says otherwise. */
const opened = (changes: Readonly<Record<string, string>>) => readyConnections(changes, 'purchase');

/** What an instance is missing, once it is not ready. */
async function shortcomings(connections: Connections): Promise<() => Promise<string>> {
  const { app } = await openInstance(connections);
  expect((await app.request('/readyz')).status).toBe(200);
  return async () => {
    const { status, ...answer } = (await (await app.request('/readyz')).json()) as Problem;
    return status === 503 ? answer.detail : '';
  };
}
interface Problem {
  readonly status: number | string;
  readonly detail: string;
}

const untilAccepted = (buy: () => Promise<Outcome> | Outcome) =>
  waitUntil('the order to be accepted', 20_000, async () => (await buy()).kind === 'accepted');
const untilSoldOut = (buy: () => Promise<Outcome> | Outcome) =>
  waitUntil('the answer sold-out', 20_000, async () => {
    const outcome = await buy();
    return outcome.kind === 'refused' && outcome.reason === 'sold-out';
  });

test('a service that promises `always` does not start while Redis syncs every second', async () => {
  const { url: REDIS_URL } = await startOwnRedis({ appendfsync: 'everysec' });
  const connections = await opened({ REDIS_URL });
  await expect(agreeOnDurability(connections, quiet)).rejects.toMatchObject({
    code: 'DURABILITY_TOO_WEAK',
    message: expect.stringContaining(': appendfsync is everysec, and must be always. '),
  });
  const lower = await opened({ REDIS_URL, ORDER_DURABILITY: 'everysec' });
  await agreeOnDurability(lower, quiet);
  for (const program of ['service', 'api']) {
    const entry = new URL(`../../dist/service/bin/${program}.js`, import.meta.url).pathname;
    const stores = { MYSQL_URL: await ownDatabase(), REDIS_URL, TOKEN_SECRET: deploymentSecret };
    if (program === 'api') stores.MYSQL_URL = ownLab.environment['MYSQL_URL'] ?? '';
    const env = { PATH: process.env['PATH'], ...stores, PORT: '17985' };
    await connections.redis('admin').flushall();
    const options = { env, timeout: 20_000, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
    const ended = spawnSync(process.execPath, [entry], options);
    expect(ended.status, ended.stdout).toBe(1);
    expect(ended.stdout + ended.stderr).toContain('appendfsync is everysec, and must be always');
  }
});

test('a backup that reads a master as a replica does is none of its replicas', async () => {
  const { url: REDIS_URL } = await startOwnRedis({ 'min-replicas-to-write': '1' });
  const connections = await opened({ REDIS_URL, ORDER_DURABILITY: 'replica' });
  const port = Number(new URL(REDIS_URL).port);
  for (const _ of [1, 2]) {
    const backup = connect(port, '127.0.0.1', () => backup.write('SYNC\r\n')).resume();
    onTestFinished(() => void backup.destroy());
  }
  const redis = connections.redis('admin');
  const isRead = async () => (await redis.info('replication')).includes('connected_slaves:2');
  await waitUntil('the backups to read', 20_000, isRead);
  await agreeOnDurability(connections, quiet);
});

test('an instance whose Redis stops to sync is not ready, and says what is wrong', async () => {
  const { url: REDIS_URL } = await startOwnRedis();
  const connections = await opened({ REDIS_URL });
  const epoch = connections.saleKeys.shards[0]?.epoch ?? '';
  await connections.redis('admin').set(epoch, 'a');
  const detail = await shortcomings(connections);
  await connections.redis('admin').config('SET', 'appendfsync', 'everysec');
  await expect.poll(detail).toContain('appendfsync is everysec');
});

test('a Redis that allows no CONFIG is not compared, and the log says so', async () => {
  const redis = await startOwnRedis();
  const admin = await opened({ REDIS_URL: redis.url });
  await admin
    .redis('admin')
    .call('ACL', 'SETUSER', 'shop', 'on', '>shop', '~*', '&*', '+@all', '-config');
  const url = new URL(redis.url);
  Object.assign(url, { username: 'shop', password: 'shop' });
  const connections = await opened({ REDIS_URL: url.href });
  const logged: unknown[] = [];
  const log = { error: (line: unknown) => void logged.push(line) } as unknown as typeof quiet;
  await agreeOnDurability(connections, log);
  expect(logged).toMatchObject([{ event: 'durability-not-checked' }]);
});

/** A master with its replicas, and a voucher that is on sale there. */
async function replicated(count = 1) {
  const master = await startOwnRedis({ 'min-replicas-to-write': String(count) });
  const replicas = await startOwnRedises(count, { replicaof: `127.0.0.1 ${master.port}` });
  const [replica] = replicas as [OwnRedis];
  const ORDER_REPLICAS = String(count);
  const settings = { REDIS_URL: master.url, ORDER_DURABILITY: 'replica', ORDER_REPLICAS };
  const connections = await opened(settings);
  const admin = connections.redis('admin');
  const isInSync = async () => {
    // Refused until they are there. One that is online may get no writes for a second more.
    const isWritten = await admin.set('written', '1').catch(() => null);
    return isWritten !== null && (await admin.wait(count, 500)) === count;
  };
  await waitUntil('the replica', 20_000, isInSync);
  const { voucher } = await luaStreamSale(connections, { stock: 500 });
  const buy = (by: Connections, order: Order) => openLuaStream(by).sell(order, voucher, freeLease);
  return { replica, replicas, connections, voucher, settings, buy };
}

const stockOf = (connections: Connections, { id }: Voucher) =>
  connections.redis('admin').hget(connections.saleKeys.of(id).voucher(id), 'stock');

const kinds = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ kind }) => kind))];

test('with `replica`, an order is accepted once a replica has it: until then it is unknown, and keeps its stock', async () => {
  const { replica, connections, voucher, settings, buy } = await replicated();
  const first = await buy(connections, someOrder(voucher.id, '1'));
  expect(first).toMatchObject({ kind: 'accepted' });

  await replica.pause();
  const order = someOrder(voucher.id, '2');
  const outcome = await buy(connections, order);
  expect(outcome).toMatchObject({ kind: 'unknown', orderId: order.id });
  expect((outcome as { cause: unknown }).cause).toMatchObject({ code: 'REPLICA_BEHIND' });
  expect(await stockOf(connections, voucher)).toBe('498');

  // Another instance has written nothing itself, and must wait all the same.
  const other = await opened(settings);
  const again = { ...someOrder(voucher.id, '2'), requestId: order.requestId };
  expect(await buy(other, again)).toMatchObject({ kind: 'unknown', orderId: order.id });
  // That answer would rest on an order that a new master may not have.
  expect(await buy(other, someOrder(voucher.id, '2'))).toMatchObject({ reason: 'not-ready' });

  await replica.resume();
  await untilAccepted(() => buy(other, again));
  expect(await buy(other, again)).toMatchObject({ kind: 'accepted', orderId: order.id });
  expect(await buy(other, someOrder(voucher.id, '2'))).toMatchObject({ reason: 'already-ordered' });
  expect(await stockOf(connections, voucher)).toBe('498');
});

test('with `replica`, an order is accepted once all replicas have it, whichever may be promoted', async () => {
  const { replicas, connections, voucher, buy } = await replicated(2);
  await agreeOnDurability(connections, quiet);
  for (const [user, replica] of replicas.entries()) {
    await replica.pause();
    const order = someOrder(voucher.id, String(user + 1));
    expect(await buy(connections, order)).toMatchObject({ kind: 'unknown', orderId: order.id });
    await replica.resume();
    await untilAccepted(() => buy(connections, order));
  }
});

test('with `replica`, no service starts, and none is ready, with more replicas than it waits for', async () => {
  const { connections, settings } = await replicated(2);
  const fewer = await opened({ ...settings, ORDER_REPLICAS: '1' });
  const message = expect.stringMatching(/: a master has 2 replicas, and ORDER_REPLICAS is 1: /);
  const tooWeak = { code: 'DURABILITY_TOO_WEAK', message };
  await expect(agreeOnDurability(fewer, quiet)).rejects.toMatchObject(tooWeak);
  const detail = await shortcomings(connections);
  await startOwnRedis({ replicaof: `127.0.0.1 ${new URL(settings.REDIS_URL).port}` });
  await expect.poll(detail).toContain('a master has 3 replicas');
});

test('with `replica`, nobody is told `sold-out` because of an order that no replica has', async () => {
  const { replica, connections } = await replicated();
  const { inventory, voucher } = await luaStreamSale(connections, { stock: 1 });
  const buy = (user: string) => inventory.sell(someOrder(voucher.id, user), voucher, freeLease);
  await replica.pause();
  expect(await buy('1')).toMatchObject({ kind: 'unknown' });
  for (const user of ['2', '3']) expect(await buy(user)).toMatchObject({ reason: 'not-ready' });
  await replica.resume();
  await untilSoldOut(() => buy('4'));
});

test('with `replica`, nobody is told `sold-out` because another bucket sold what no replica has', async () => {
  const { replica, connections } = await replicated();
  const { saleKeys } = connections;
  const voucher = await someVoucher(connections, { stock: 1, rung: 'lua-buckets', buckets: 2 });
  const options = { epoch: connections.epoch, waitForReplicas: 1 };
  const inventory = luaBuckets(connections.redis('purchase'), saleKeys, options);
  await inventory.prepare(voucher);
  const users = Array.from({ length: 40 }, (_, user) => String(user + 1));
  const [first, second] = saleKeys.bucketsOf(voucher.id, 2);
  const userOf = (bucket: unknown) =>
    users.find((user) => saleKeys.bucketOf(voucher.id, user, 2) === bucket) ?? '';
  const buy = (user: string) => inventory.sell(someOrder(voucher.id, user), voucher, freeLease);
  await replica.pause();
  expect(await buy(userOf(first))).toMatchObject({ kind: 'unknown' });
  expect(await buy(userOf(second))).toMatchObject({ reason: 'not-ready' });
  await replica.resume();
  await untilSoldOut(() => buy(userOf(second)));

  // Each bucket may have a master of its own: each is asked for its replica.
  const sets = () => callsOf(connections.redis('admin'), 'set');
  const before = await sets();
  const other = luaBuckets(connections.redis('purchase'), saleKeys, options);
  const answer = await other.sell(someOrder(voucher.id, userOf(second)), voucher, freeLease);
  expect(answer).toMatchObject({ reason: 'sold-out' });
  expect((await sets()) - before).toBe(3); // For the refusal of its own bucket, and for both.
});

test('with `replica`, a purchase is not answered 202 while no replica can have its order', async () => {
  const { replica, connections, voucher } = await replicated();
  const { app } = await openInstance(connections);
  const headers = { authorization: `Bearer ${await tokenFor('7')}`, 'idempotency-key': 'once' };
  const purchase = async () => {
    const path = `/vouchers/${voucher.id}/orders`;
    const answer = await app.request(path, { method: 'POST', headers });
    return `${answer.status} ${((await answer.json()) as { code?: string }).code ?? ''}`;
  };
  await replica.pause();
  expect(await purchase()).toBe('503 outcome-unknown');
  expect(await purchase()).toBe('503 outcome-unknown');
  expect(await stockOf(connections, voucher)).toBe('499');
  await replica.resume();
  await waitUntil('the answer 202', 20_000, async () => (await purchase()) === '202 ');
  expect(await stockOf(connections, voucher)).toBe('499');
});

test('with `replica`, many purchases share one WAIT, and an outcome on a new connection is unknown', async () => {
  const { connections, voucher, buy } = await replicated();
  const redis = connections.redis('purchase');
  const orders = Array.from({ length: 200 }, (_, user) => someOrder(voucher.id, String(user + 1)));
  const inventory = openLuaStream(connections);
  const sold = await Promise.all(orders.map((order) => inventory.sell(order, voucher, freeLease)));
  expect(kinds(sold)).toEqual(['accepted']);
  const waits = await callsOf(connections.redis('admin'), 'wait');
  expect(waits).toBeGreaterThan(0);
  expect(waits).toBeLessThan(20);

  // The answer comes, and the connection is another one before the WAIT is answered.
  const wait = redis.wait.bind(redis);
  let isNew = false; // WAIT is true at once there.
  Object.assign(redis, {
    wait: async (...args: [number, number]) => {
      const { stream } = redis;
      redis.disconnect(true);
      isNew = false;
      await waitUntil('a new connection', 20_000, () => {
        isNew = redis.stream !== stream && redis.status === 'ready';
        return isNew;
      });
      return wait(...args);
    },
  });
  expect(await buy(connections, someOrder(voucher.id, '300'))).toMatchObject({ kind: 'unknown' });
  expect(isNew).toBe(true);
});

test('with `replica`, a change of a sale is done once a replica has it', async () => {
  const { replica, connections } = await replicated();
  const stores = { ...(await ownStores()), REDIS_URL: connections.config.REDIS_URL };
  const by = await opened({ ...stores, ORDER_DURABILITY: 'replica' });
  await agreeOnEpoch(by, quiet);
  const vouchers: Voucher[] = [];
  for (const rung of ['lua-stream', 'lua-buckets']) vouchers.push(await putOnSaleBy(by, rung));
  const pause = ({ id }: Voucher) => changeSale(by, id, '9', { paused: true });
  await replica.pause();
  for (const voucher of vouchers) {
    await expect(pause(voucher)).rejects.toMatchObject({ cause: withCode('REPLICA_BEHIND') });
    expect(await changesOf(by.mysql(), voucher.id)).toMatchObject([{ state: 'begun' }]);
  }
  // Redis has the change: a process that repeats it writes nothing, and waits all the same.
  await expect(finishChanges(by)).rejects.toThrow(withCode('REPLICA_BEHIND'));
  await replica.resume();
  await waitUntil('the changes to be finished', 20_000, async () => {
    await finishChanges(by).catch(() => []);
    const states = vouchers.map(async ({ id }) => (await changesOf(by.mysql(), id))[0]?.state);
    return (await Promise.all(states)).every((state) => state === 'done');
  });
});

async function putOnSaleBy(by: Connections, rung: string): Promise<Voucher> {
  const { inventory } = await openRung(rung, by);
  const voucher = { title: 'replicated', stock: 5, rung, beginTime: new Date(0), buckets: 2 };
  const endTime = new Date(Date.now() + 3_600_000);
  return openVouchers(by).create({ ...voucher, endTime }, inventory.prepare);
}
