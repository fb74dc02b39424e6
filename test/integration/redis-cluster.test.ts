/** What a Redis Cluster adds: buckets and locks on three masters, and how a process starts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { mostReplicas } from '../../src/service/connections/durability.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { openConnections, readyConnections, testConnections } from '../support/connections.ts';
import { held, openLock } from '../support/locks.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import {
  factsOf,
  someOrder,
  someVoucher,
  usersUpTo,
  wordOf,
  workUntilEmpty,
} from '../support/sale.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

/** @returns how many connections had subscribed */
async function killSubscribers(): Promise<number> {
  const killed = cluster.nodes.map(({ admin }) => admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  return (await Promise.all(killed)).reduce<number>((sum, each) => sum + Number(each), 0);
}

/** No subscriber lives long enough to hear a message. */
async function killUntil(stop: AbortSignal): Promise<number> {
  let killed = await killSubscribers();
  while (!stop.aborted) killed += await killSubscribers();
  return killed;
}

async function channels(): Promise<number> {
  const found = cluster.nodes.map(({ admin }) => admin.pubsub('CHANNELS', '*'));
  return (await Promise.all(found)).flat().length;
}

test.each(['redis-message', 'redis-reentrant', 'redis-fair'] as const)(
  'a waiter of %s gets the lock although its subscription was lost at the release',
  async (rung) => {
    const leases = { LOCK_LEASE_MS: '30000', LOCK_WATCHDOG_MS: '30000' };
    const settings = { REDIS_URL: cluster.url, REDIS_CLUSTER: '1', ...leases };
    const [owner, waiter] = [await openLock(rung, settings), await openLock(rung, settings)];
    const lease = await held(owner.lock, 'seat', { waitMs: 0 });
    const next = held(waiter.lock, 'seat', { waitMs: 8_000 });
    await waitUntil('the waiter to listen', 20_000, async () => (await channels()) > 0);
    await sleep(300); // It asks once more after it has subscribed.
    const released = new AbortController();
    const killing = killUntil(released.signal);
    await lease.release();
    released.abort();
    expect(await killing).toBeGreaterThan(0);
    await next; // The lease of the owner is longer than the wait.
  },
);

/** Another one, where each master has a replica. */
async function replicated(): Promise<RedisCluster> {
  const own = await startRedisCluster({ replicas: true });
  onTestFinished(() => own.stop());
  return own;
}

const key = '{sale:0}:epoch';

/** A process of the service: its connections are new. */
async function sells(settings: Readonly<Record<string, string>>): Promise<boolean> {
  const connections = openConnections({ REDIS_CLUSTER: '1', ...settings });
  try {
    const redis = connections.redis('purchase');
    await connections.ready();
    return await redis.setrange(key, 0, '').then(
      () => true,
      () => false,
    );
  } finally {
    await connections.close();
  }
}

test('the node of REDIS_URL is dead and replaced by its replica: another node is enough', async () => {
  const cluster = await replicated();
  const [seed, ...others] = cluster.nodes as [OwnRedis, ...OwnRedis[]];
  const REDIS_CLUSTER_NODES = others.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const [REDIS_URL, isNamed] = [cluster.url, { REDIS_CLUSTER_NODES }];
  expect(await sells({ REDIS_URL })).toBe(true);
  await cluster.replicaOf(seed); // Without its data, it would not be elected.
  await seed.kill();
  expect(await sells({ REDIS_URL })).toBe(false);
  await waitUntil('another process to sell', 20_000, () => sells({ REDIS_URL, ...isNamed }));
}, 120_000);

test('each address of a name is tried, and the replicas of each master are known', async () => {
  const cluster = await replicated();
  // By IPv6 nobody answers.
  expect(await sells({ REDIS_URL: cluster.url.replace('127.0.0.1', 'localhost') })).toBe(true);
  const connections = await readyConnections({ REDIS_URL: cluster.url, REDIS_CLUSTER: '1' });
  const masters = cluster.nodes.map(({ admin }) => admin);
  expect(await mostReplicas(connections, masters)).toBe(1);
  for (const redis of masters) await redis.call('ACL', 'SETUSER', 'default', '-cluster|nodes');
  await expect(mostReplicas(connections, masters)).rejects.toThrow(/^NOPERM/);
}, 120_000);

const stock = 12;
const lab = { rails: true, workMs: 0, retries: 0 };

/** The last one here: red, it leaves a master of the cluster away. */
test('a voucher sells from three masters, and no bucket lies while one of them is away', async () => {
  const connections = testConnections({
    ...{ REDIS_URL: cluster.url, REDIS_CLUSTER: '1', SALE_SHARDS: '4', VOUCHER_BUCKETS: '4' },
    ...{ CLAIM_IDLE_MS: '200', BATCH_GATHER_MS: '0', PURCHASE_ANSWER_MS: '600' },
  });
  const { inventory, purchase } = await openRung('lua-buckets', connections);
  const voucher = await someVoucher(connections, { stock, lab, rung: 'lua-buckets' });
  await inventory.prepare(voucher);
  const { bucketsOf, bucketOf } = connections.saleKeys;
  const buckets = bucketsOf(voucher.id, voucher.buckets);
  const owners = await Promise.all(buckets.map(({ orders }) => cluster.ownerOf(orders)));
  expect(new Set(owners).size).toBeGreaterThan(1);
  const [away] = owners as [(typeof owners)[number]];
  const here = buckets.filter((_, index) => owners[index] !== away);
  const users = usersUpTo(400).map(String);
  const usersOf = (bucket: ShardKeys) =>
    users.filter((user) => bucketOf(voucher.id, user, voucher.buckets) === bucket);
  const buy = async (user: string) =>
    wordOf(await purchase(someOrder(voucher.id, user, `of-${user}`), voucher));

  await away.kill();
  // All are users of one bucket: it borrows from the others that answer.
  const [bucket] = here as [ShardKeys];
  const left = 3 * here.length;
  const buyers = usersOf(bucket).slice(0, left + 1);
  const answers: string[] = [];
  for (const user of buyers) answers.push(await buy(user));
  expect(answers).toEqual([...Array<string>(left).fill('accepted'), 'not-ready']);

  await away.start();
  const last = buyers.at(-1) ?? '';
  await waitUntil('the master', 20_000, async () => (await buy(last)) === 'accepted');
  const others = usersOf(bucket).slice(left + 1, left + 1 + stock - left);
  const rest: string[] = [];
  for (const user of others) rest.push(await buy(user));
  expect(rest).toEqual([...Array<string>(stock - left - 1).fill('accepted'), 'sold-out']);
  await workUntilEmpty(connections);
  expect(await factsOf(connections, voucher.id)).toMatchObject({
    ...{ redis: { stock: 0, queued: [] }, mysql: { stock: 0 } },
  });
  expect(await reconcile(connections, voucher.id)).toMatchObject({
    verdict: 'consistent',
    vouchers: [{ stock: 0, recorded: stock, buyers: stock }],
  });
});
