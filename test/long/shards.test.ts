/** The final rung on several shards: on one Redis, and on a Redis Cluster of three masters. */
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { orderGroup } from '../../src/service/connections/sale-keys.ts';
import type { Voucher } from '../../src/service/domain.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { findOrder } from '../../src/service/orders/find-order.ts';
import { redisStreamGroupQueue } from '../../src/service/queues/redis-stream-group.ts';
import { quietRedis, readyConnections, testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { consume, someOrder, usersUpTo } from '../support/sale.ts';
import { deploy } from '../support/service-process.ts';
import { proxyBefore } from '../support/test-proxy.ts';
import {
  acceptedOf,
  buyUntilKnown,
  expectRecorded,
  type Sale,
  type Settings,
  startSale,
  startWorker,
  untilDrained,
} from './sharded-sale.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

const quick = { CLAIM_IDLE_MS: '200', BATCH_GATHER_MS: '0' };
const oneRedis = (shards: number) => (): Settings => ({
  ...quick,
  REDIS_URL: quietRedis(),
  SALE_SHARDS: String(shards),
});
const onCluster = (): Settings => ({
  ...quick,
  REDIS_URL: cluster.url,
  REDIS_CLUSTER: '1',
  SALE_SHARDS: '4',
});

/** Eight users want each voucher, with two requests each at the same time. */
async function sellOut({ vouchers, buy }: Sale): Promise<void> {
  const users = Array.from({ length: 16 }, (_, index) => String(1 + (index % 8)));
  await Promise.all(vouchers.flatMap((voucher) => users.map((user) => buy(voucher, user))));
}

/** For each shard: its orders that nobody has settled. An entry of its stream may hold several. */
const waiting = ({ connections }: Sale): Promise<number[]> =>
  Promise.all(
    connections.saleKeys.shards.map(({ queued }) => connections.redis('admin').hlen(queued)),
  );

describe.each([
  ['one Redis with one shard', 1, oneRedis(1)],
  ['one Redis with four shards', 4, oneRedis(4)],
  ['a Redis Cluster with four shards', 4, onCluster],
])('%s', (_, shards, settings) => {
  test('sells exactly the stock of every voucher, one to each user, on every shard, and records it', async () => {
    const sale = await startSale(settings(), 5);
    await sellOut(sale);
    for (const voucher of sale.vouchers) {
      const users = acceptedOf(sale, voucher).map(({ userId }) => userId);
      expect(users).toHaveLength(5);
      expect(new Set(users).size).toBe(5);
      expect(await sale.inventory.remaining(voucher)).toBe(0);
    }
    expect(await waiting(sale)).toEqual(shards === 1 ? [20] : [5, 5, 5, 5]);
    for (const voucher of sale.vouchers)
      for (const { orderId = '', userId } of acceptedOf(sale, voucher))
        expect(await findOrder(sale.connections, orderId)).toEqual({
          ...{ id: orderId, voucherId: voucher.id, userId, status: 'queued' },
        });
    const end = startWorker(settings());
    await untilRecorded(sale);
    await end();
  });

  test('gives another consumer what a killed consumer had taken, on every shard', async () => {
    const sale = await startSale(settings(), 5);
    await sellOut(sale);
    await takeAndDie(settings(), 20);
    for (const { orders } of sale.connections.saleKeys.shards) {
      const redis = sale.connections.redis('admin');
      const [pending] = await redis.xpending(orders, orderGroup);
      expect(pending).toBeGreaterThan(0);
      expect(pending).toBe(await redis.xlen(orders));
    }
    const end = startWorker(settings());
    await untilRecorded(sale);
    await end();
  });
});

async function untilRecorded(sale: Sale): Promise<void> {
  await untilDrained(sale.connections);
  await expectRecorded(sale);
}

/** A process that takes so many orders, and is killed with all of them in its hands. */
async function takeAndDie(settings: Settings, count: number): Promise<void> {
  const program = new URL('order-taker.mjs', import.meta.url).pathname;
  const env = { ...ownLab.environment, ...settings };
  const taker = execa('node', [program], { env, reject: false });
  let taken = 0;
  taker.stdout.on('data', (lines: Buffer) => {
    for (const [, orders] of String(lines).matchAll(/took (\d+)/g)) taken += Number(orders);
  });
  await waitUntil('the consumer to take every order', 20_000, () => taken === count).finally(() =>
    taker.kill('SIGKILL'),
  );
  await taker;
}

describe('a Redis Cluster', () => {
  test('has the shards on all its masters, and the keys of a shard in one slot', async () => {
    const sale = await startSale(onCluster(), 5);
    await sellOut(sale);
    const keysPerMaster = await Promise.all(
      cluster.nodes.map(async ({ admin }) => (await admin.keys('{sale:*')).length),
    );
    expect(keysPerMaster.filter((count) => count > 0)).toHaveLength(3);
    const { saleKeys } = sale.connections;
    for (const { id } of sale.vouchers) {
      const { voucher, buyers, orders, queued, dead } = saleKeys.of(id);
      const keys = [voucher(id), buyers(id), orders, queued, dead];
      const slots = await Promise.all(
        keys.map((key) => cluster.nodes[0]?.admin.cluster('KEYSLOT', key)),
      );
      expect(new Set(slots).size).toBe(1);
    }
  });

  test('sells to the first requests of a new instance, many at once', async () => {
    const { vouchers } = await startSale(onCluster(), 20);
    const connections = testConnections(onCluster());
    const { purchase } = await openRung('lua-stream', connections);
    const buying = vouchers.flatMap((voucher) =>
      usersUpTo(20).map((user) => purchase(someOrder(voucher.id, String(user)), voucher)),
    );
    const outcomes = await Promise.all(buying);
    expect(outcomes.filter(({ kind }) => kind !== 'accepted')).toEqual([]);
  });

  test('loses nothing when a master is killed and started again, and the others go on', async () => {
    const stock = 100; // It lasts longer than the kill takes.
    const sale = await startSale(onCluster(), stock);
    const { connections, vouchers } = sale;
    const [first] = vouchers as [Voucher];
    const owners = await ownersOf(sale);
    const [lost] = owners as [OwnRedis];
    const elsewhere = vouchers.filter((_, index) => owners[index] !== lost);
    startWorker(onCluster());
    const buying = Promise.all(vouchers.map((voucher) => buyAsUsers(sale, voucher, 140)));

    await waitUntil('the sale to run', 20_000, () => acceptedOf(sale, first).length >= 15);
    await lost.kill();
    const soldBefore = elsewhere.map((voucher) => acceptedOf(sale, voucher).length);
    await sleep(3_500); // Longer than the cluster needs to call the master down.
    const outage = sale.attempts.filter(
      ({ voucherId, outcome }) => voucherId === first.id && outcome !== 'accepted',
    );
    expect(outage.length).toBeGreaterThan(0);
    for (const [index, voucher] of elsewhere.entries()) {
      const sold = acceptedOf(sale, voucher);
      expect(sold.length).toBeGreaterThan(soldBefore[index] ?? 0);
      const { orderId = '' } = sold[0] ?? {};
      expect(await findOrder(connections, orderId)).toMatchObject({ status: 'confirmed' });
    }
    await expect(findOrder(connections, someOrder('1', '1').id)).rejects.toThrow();
    await lost.start();

    await buying;
    for (const voucher of vouchers) expect(acceptedOf(sale, voucher).length).toBe(stock);
    await untilRecorded(sale);
  });

  test('runs a purchase whose answer is lost once, and answers unknown', async () => {
    const [node] = cluster.nodes as [OwnRedis];
    const proxy = await proxyBefore(node.port);
    await cluster.announce(node, proxy.port);
    onTestFinished(() => cluster.announce(node, node.port));
    const sale = await startSale(onCluster(), 5);
    const voucher = sale.vouchers[(await ownersOf(sale)).indexOf(node)] as Voucher;
    await sale.buy(voucher, '6'); // From now on the node knows the script.
    await node.admin.config('RESETSTAT');

    proxy.swallowNextAnswer('once'); // Not one to the client that copies vouchers to Redis.
    const lost = await sale.buy(voucher, '7', 'once');
    expect(lost).toMatchObject({ kind: 'unknown' });
    await sleep(500); // Longer than a client waits before it sends a command again.
    expect(await callsOfPurchase(node)).toBe(1);
    expect(await sale.inventory.remaining(voucher)).toBe(3);
    const { orderId } = lost;
    expect(await sale.buy(voucher, '7', 'once')).toMatchObject({ kind: 'accepted', orderId });
    expect(await sale.inventory.remaining(voucher)).toBe(3);
  });

  test('delivers what is published to every shard, over connections that the queue duplicates', async () => {
    const connections = await readyConnections(onCluster());
    const redis = connections.redis('admin');
    for (const { orders, queued } of connections.saleKeys.shards) await redis.del(orders, queued);
    const queue = redisStreamGroupQueue(redis, connections.saleKeys, { gatherMs: 0 });
    const published = usersUpTo(4, 1_000).map((voucherId) => someOrder(String(voucherId), '7'));
    for (const order of published) await queue.publish(order);
    expect(await queue.depth()).toBe(4);
    const { delivered, end } = consume(redis, queue);
    await waitUntil('the queue to drain', 20_000, async () => (await queue.depth()) === 0);
    await end();
    expect(new Set(delivered())).toEqual(new Set(published.map(({ id }) => id)));
  });

  test('serves the service itself: with four shards it sells and records on each', async () => {
    const { onSale, buy, confirmed, operate, stop } = await deploy(onCluster());
    for (let count = 0; count < 4; count++) {
      const id = await onSale();
      const sold = await buy(id, 7);
      expect(sold.httpStatus).toBe(202);
      await confirmed(sold.location, 7);
      const audited = await operate('GET', `/vouchers/${id}/audit`);
      expect(await audited.json()).toMatchObject({ verdict: 'held', orders: 1, stock: 4 });
    }
    expect(await stop()).toBe(0);
  });

  test('sells on while the slot of a shard moves to another master', async () => {
    const sale = await startSale(onCluster(), 60);
    const { connections, vouchers } = sale;
    const [moving] = vouchers as [Voucher];
    const { orders } = connections.saleKeys.of(moving.id);
    const from = await cluster.ownerOf(orders);
    const to = cluster.nodes.find((node) => node !== from) as OwnRedis;
    onTestFinished(() => cluster.moveSlot(orders, from, 0));
    await to.admin.script('FLUSH'); // As on a master that joined today.
    await from.admin.config('RESETSTAT');
    startWorker(onCluster());
    const buying = Promise.all(vouchers.map((voucher) => buyAsUsers(sale, voucher, 100)));

    await waitUntil('the sale to run', 20_000, () => acceptedOf(sale, moving).length >= 15);
    await cluster.moveSlot(orders, to, 100);
    expect(await cluster.ownerOf(orders)).toBe(to);
    await buying;
    const errors = await from.admin.info('errorstats');
    for (const redirect of ['ASK', 'TRYAGAIN', 'MOVED'])
      expect(errors).toContain(`errorstat_${redirect}:`);
    for (const voucher of vouchers) expect(acceptedOf(sale, voucher).length).toBe(60);
    await untilRecorded(sale);
  });
});

/** How often the node ran a script since its statistics were reset. */
async function callsOfPurchase({ admin }: OwnRedis): Promise<number> {
  const statistics = await admin.info('commandstats');
  const calls = [...statistics.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The master of each voucher. */
const ownersOf = ({ connections, vouchers }: Sale): Promise<OwnRedis[]> =>
  Promise.all(vouchers.map(({ id }) => cluster.ownerOf(connections.saleKeys.of(id).orders)));

/** One user after the other, each with one request that is repeated until its outcome is known. */
async function buyAsUsers(sale: Sale, voucher: Voucher, users: number): Promise<void> {
  const buying: Promise<void>[] = [];
  for (let user = 1; user <= users; user++) {
    buying.push(buyUntilKnown(sale, voucher, String(user)));
    await sleep(50);
  }
  await Promise.all(buying);
}
