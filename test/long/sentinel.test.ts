/**
 * Redis behind Sentinel: when the master and the Sentinel beside it are killed or frozen, every
 * client follows to the promoted replica. Purchases and the order worker go on in the same process.
 */

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { masterName, sentinelServer, viewOf } from '../../src/lab/environment/sentinels.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import type { RedisRole } from '../../src/service/connections/redis.ts';
import { MasterWatch } from '../../src/service/connections/redis-sentinel.ts';
import type { Order, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { findRecorded } from '../../src/service/orders/record-orders.ts';
import { someFolder } from '../support/basics.ts';
import { testConnections } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { luaStreamSale, someOrder, startWorker } from '../support/sale.ts';
import { ownPorts, startOwnRedis } from '../support/servers.ts';
import { startLoggedService } from '../support/service-process.ts';

const password = 'of-the-masters';

interface OwnSentinels {
  /** The settings of a service that uses them. The URL names no server that exists. */
  readonly settings: Readonly<Record<string, string>>;
  /** On the server that is the master at first, and the Sentinel beside it. */
  onBoth(change: 'kill' | 'pause' | 'resume'): Promise<void>;
  /** Its URL, and that of the replica. */
  readonly urls: readonly [first: string, second: string];
  /** Resolves when the second server is a master. */
  promoted(): Promise<void>;
}

async function startOwnSentinels(): Promise<OwnSentinels> {
  const secrets = { requirepass: password, masterauth: password };
  const main = await startOwnRedis(secrets, { access: { password } });
  const replica = { ...secrets, replicaof: `127.0.0.1 ${main.port}` };
  const second = await startOwnRedis(replica, { access: { password } });
  const becomes = (description: string, info: RegExp) =>
    waitUntil(description, 20_000, async () => info.test(await second.admin.info()));
  await becomes('a copy', /master_link_status:up/);
  const folder = someFolder();
  const first = await ownPorts(19_400, 3);
  const ports = [first, first + 1, first + 2];
  const sentinels = ports.map((port) => sentinelOf(folder, port, main.port));
  onTestFinished(async () => void (await Promise.all(sentinels.map((each) => each.end()))));
  await Promise.all(sentinels.map((each) => each.start()));
  // Not the first: the clients ask the next one when they connect again.
  const pair = [main, sentinels[1] as OwnServer];
  const url = (port: number) => `redis://:${password}@127.0.0.1:${port}/2`;
  return {
    settings: {
      REDIS_URL: url(1),
      REDIS_SENTINELS: ports.map((port) => `127.0.0.1:${port}`).join(','),
    },
    onBoth: async (change) => void (await Promise.all(pair.map((each) => each[change]()))),
    urls: [url(main.port), url(second.port)],
    promoted: () => becomes('a promotion', /role:master/),
  };
}

/** It has found the replica and the other two. */
function sentinelOf(folder: string, port: number, master: number): OwnServer {
  const name = `sentinel-${port}`;
  const server = sentinelServer(name, folder, port, master);
  const prepare = async () => {
    await server.prepare?.();
    const line = `sentinel auth-pass ${masterName} ${password}\n`;
    appendFileSync(join(folder, name, 'sentinel.conf'), line);
  };
  const answers = async () => {
    const { replicas, otherSentinels } = await viewOf(port);
    return replicas >= 1 && otherSentinels >= 2;
  };
  return new OwnServer({ ...server, prepare, answers });
}

const roles = ['lock', 'purchase', 'subscriber', 'consumer', 'admin', 'pause'] as const;
/** From the promotion to the first recorded order, also on a slow machine. */
const mostMs = 20_000;

interface Sale {
  readonly sentinels: OwnSentinels;
  readonly connections: Connections;
  readonly inventory: Inventory;
  readonly voucher: Voucher;
}

async function sale(): Promise<Sale> {
  const sentinels = await startOwnSentinels();
  const connections = testConnections(sentinels.settings);
  for (const role of roles) connections.redis(role);
  return { sentinels, connections, ...(await luaStreamSale(connections, { stock: 1_000 })) };
}

/** In this process, with the connections of the sale. */
async function saleWithWorker(): Promise<Sale> {
  const own = await sale();
  onTestFinished(startWorker(own.connections));
  return own;
}

let users = 0;
/** @returns null when it was not accepted. */
async function buy({ inventory, voucher }: Sale): Promise<Order | null> {
  const order = someOrder(voucher.id, String(++users));
  const { kind } = await inventory.sell(order, voucher, freeLease);
  return kind === 'accepted' ? order : null;
}

/** Buys all the time. @returns the accepted orders, as they come. */
function buyAllTheTime(of: Sale): Order[] {
  const accepted: Order[] = [];
  const buying = setInterval(async () => {
    const order = await buy(of);
    if (order) accepted.push(order);
  }, 50);
  onTestFinished(() => clearInterval(buying));
  return accepted;
}

async function areRecorded({ connections }: Sale, orders: readonly Order[]): Promise<boolean> {
  if (orders.length === 0) return false;
  const found = await findRecorded(connections.mysql(), orders);
  return orders.every(({ id }) => found.get(id) === 'recorded');
}

/** Buys until an order is recorded. */
async function oneMoreOrder(of: Sale): Promise<void> {
  let accepted: Order | null = null;
  await waitUntil('an order to be recorded', 20_000, async () => {
    accepted ??= await buy(of);
    return accepted !== null && areRecorded(of, [accepted]);
  });
}

const portOf = (connections: Connections, role: RedisRole) =>
  connections.redis(role).stream?.remotePort;

/** To the second server, with the password and the database of the URL. */
async function everyRoleFollows({ sentinels, connections }: Sale): Promise<void> {
  const port = Number(new URL(sentinels.urls[1]).port);
  for (const role of roles)
    await waitUntil(`the role ${role} to follow`, mostMs, async () => {
      return (
        (await connections.redis(role).ping()) === 'PONG' && portOf(connections, role) === port
      );
    });
}

/** Purchases never stop; no order that is accepted after the promotion is lost. */
async function goesOnAfter(end: 'kill' | 'pause', own: Sale): Promise<void> {
  await oneMoreOrder(own);
  const accepted = buyAllTheTime(own);
  await own.sentinels.onBoth(end);
  await own.sentinels.promoted();
  const lost = accepted.length;
  const since = () => accepted.slice(lost);
  await waitUntil('an order to be recorded', mostMs, () => areRecorded(own, since().slice(0, 1)));
  await everyRoleFollows(own);
  await waitUntil('every order since to be recorded', 20_000, () => areRecorded(own, since()));
}

test('the master is killed: purchases and the worker go on', async () => {
  await goesOnAfter('kill', await saleWithWorker());
});

test('the master is frozen: the processes of the service go on, and none is replaced', async () => {
  const own = await sale();
  const settings = { ...own.sentinels.settings, INSTANCES: '1' };
  const { events, isReady, ready } = await startLoggedService(settings);
  await ready();
  await goesOnAfter('pause', own);
  await waitUntil('the instance to be ready', mostMs, isReady);
  expect(events('child-exited')).toEqual([]);
  // It promises less than `replica`, and its operator is told so, once.
  expect(events('promotion-loses-orders')).toHaveLength(1);
});

test('a frozen master comes back: clients that were idle are not at it any more', async () => {
  const own = await saleWithWorker();
  await oneMoreOrder(own);
  // No command waits on these roles, so no limit of an answer ends their connections.
  const old = new Set(roles.map((role) => own.connections.redis(role).stream));
  await own.sentinels.onBoth('pause');
  await own.sentinels.promoted();
  await waitUntil('the connections to the old master to close', mostMs, () =>
    [...old].every((stream) => stream.destroyed),
  );
  await own.sentinels.onBoth('resume');
  await everyRoleFollows(own);
  await oneMoreOrder(own);
});

/** It has become one without a word to its clients. */
test('a write that a replica refuses makes its client connect again, and is not sent again', async () => {
  const { url } = await startOwnRedis();
  const connections = testConnections({ REDIS_URL: url });
  const clients = ['lock', 'purchase', 'admin'] as const;
  for (const role of clients) connections.redis(role);
  await connections.ready();
  await connections.redis('admin').call('REPLICAOF', '127.0.0.1', '1');
  for (const role of clients) {
    const redis = connections.redis(role);
    const old = redis.stream;
    await expect(redis.incr('writes')).rejects.toThrow('READONLY');
    const isNew = () => redis.stream !== old && redis.status === 'ready';
    await waitUntil('a new connection', 20_000, isNew);
  }
  await connections.redis('admin').call('REPLICAOF', 'NO', 'ONE');
  expect(await connections.redis('admin').get('writes')).toBeNull();
});

test.each([
  ['is a replica', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  ['has no memory left', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
  ['lacks replicas', 'CONFIG SET min-replicas-to-write 1', 'CONFIG SET min-replicas-to-write 0'],
])(
  'an instance whose Redis %s is not ready, although Redis answers PING',
  async (_, ...commands) => {
    const { url } = await startOwnRedis();
    const connections = testConnections({ REDIS_URL: url });
    const { app } = await openInstance(connections);
    const readyz = async () => (await app.request('/readyz')).status;
    const [hurt = [], mend = []] = commands.map((command) => command.split(' '));
    const send = ([word = '', ...rest]: string[]) => connections.redis('admin').call(word, ...rest);
    expect(await readyz()).toBe(200);
    await send(hurt);
    expect(await connections.redis('purchase').ping()).toBe('PONG');
    await waitUntil('the instance not to be ready', 20_000, async () => (await readyz()) === 503);
    await send(mend);
    await waitUntil('the instance to be ready', 20_000, async () => (await readyz()) === 200);
  },
);

test('a client that is ready at a server that most Sentinels do not name connects again', async () => {
  const { settings, urls } = await startOwnSentinels();
  const watch = new MasterWatch(testConnections(settings).config, () => {});
  onTestFinished(() => watch.close());
  const [atMaster, atReplica] = urls.map((url) =>
    testConnections({ REDIS_URL: url }).redis('purchase'),
  ) as [Redis, Redis];
  for (const client of [atMaster, atReplica]) {
    watch.add(client);
    await waitUntil('the client to be ready', 20_000, () => client.status === 'ready');
  }
  const closed = { master: 0, replica: 0 };
  atMaster.on('close', () => void closed.master++);
  atReplica.on('close', () => void closed.replica++);
  // One close is the test's own: the watch may have no Sentinel yet when a client is ready.
  await waitUntil('the client to leave', 20_000, async () => {
    const before = closed.replica;
    atReplica.disconnect(true);
    await sleep(300);
    return closed.replica >= before + 2;
  });
  expect([closed.master, atMaster.status]).toEqual([0, 'ready']);
});
