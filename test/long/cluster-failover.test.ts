/**
 * The final rung on a Redis Cluster of three masters with a replica each. The slot of a shard moves
 * to another master; then that master dies before its replica has the last orders.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { confirmed, usersWithSeveralOrders } from '../../src/service/audit/facts.ts';
import type { Voucher } from '../../src/service/domain.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { factsOf } from '../support/sale.ts';
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

/** Orders, at least, that the script took after the replica was cut off. */
const atRisk = 10;
const stock = 10_000;
const withinMs = 30_000;

test('with `replica`, a slot that moves and a failover cost no accepted order', async () => {
  const { sale, settings } = await failover('replica');
  await recordAll(sale, settings);
  await expectRecorded(sale);
}, 240_000);

test('with `always`, a failover costs the orders that no replica had, and no others', async () => {
  const { sale, settings, cutAt, atStake } = await failover('always');
  await recordAll(sale, settings);
  const lost = await lostOf(sale);
  expect(lost.length).toBeGreaterThanOrEqual(atRisk);
  const since = sale.attempts.slice(cutAt);
  for (const each of lost) {
    expect(since).toContain(each);
    expect(atStake).toContain(each.voucherId);
  }
}, 240_000);

/** Users buy all four vouchers all the time. No worker runs: the orders are in Redis alone. */
async function failover(ORDER_DURABILITY: 'always' | 'replica') {
  const cluster = await startRedisCluster({ replicas: true });
  onTestFinished(() => cluster.stop());
  const cluster4 = { REDIS_URL: cluster.url, REDIS_CLUSTER: '1', SALE_SHARDS: '4' };
  const settings = { ...cluster4, ORDER_DURABILITY, CLAIM_IDLE_MS: '200', BATCH_GATHER_MS: '0' };
  const sale = await startSale(settings, stock);
  const [moved] = sale.vouchers as [Voucher];
  const { orders } = sale.connections.saleKeys.of(moved.id);
  const over = new AbortController();
  const late = AbortSignal.timeout(3 * withinMs);
  const users = { begun: 0 };
  const selling = sellUntil(sale, users, over.signal, late);
  try {
    await sold(sale, moved, 0);
    const from = await cluster.ownerOf(orders);
    const to = cluster.nodes.find((node) => node !== from) as OwnRedis;
    await cluster.moveSlot(orders, to, 50);
    await sold(sale, moved, sale.attempts.length);
    const atStake = await vouchersOn(sale, cluster, to);
    const cutAt = await loseMaster(sale, cluster, to, { voucher: moved, users });
    await sold(sale, moved, sale.attempts.length);
    return { sale, settings, cutAt, atStake };
  } finally {
    over.abort();
    await selling;
  }
}

/** Users are numbered in the order in which they begin to buy. */
interface Users {
  begun: number;
}

async function sellUntil(
  sale: Sale,
  users: Users,
  over: AbortSignal,
  giveUp: AbortSignal,
): Promise<void> {
  const buying: Promise<void>[] = [];
  while (!over.aborted) {
    users.begun += 1;
    for (const voucher of sale.vouchers)
      buying.push(buyUntilKnown(sale, voucher, String(users.begun), giveUp));
    await sleep(40);
  }
  await Promise.all(buying);
}

const answersSince = ({ attempts }: Sale, { id }: Voucher, from: number) =>
  attempts.slice(from).filter(({ voucherId }) => voucherId === id);

const sold = (sale: Sale, voucher: Voucher, from: number): Promise<void> =>
  waitUntil('sales', withinMs, () => {
    const answers = answersSince(sale, voucher, from);
    return answers.filter(({ outcome }) => outcome === 'accepted').length >= atRisk;
  });

/** @returns how many answers there were before the replica was cut off: it has all of these. */
async function loseMaster(
  sale: Sale,
  cluster: RedisCluster,
  master: OwnRedis,
  { voucher, users }: { voucher: Voucher; users: Users },
): Promise<number> {
  const cutAt = sale.attempts.length;
  const replica = await cluster.replicaOf(master);
  await replica.pause(); // Alone, it would read later what waits in its connection.
  await master.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  const { begun } = users;
  await waitUntil('orders without a replica', withinMs, () => {
    const answers = answersSince(sale, voucher, cutAt);
    const late = answers.filter(({ userId }) => Number(userId) > begun);
    return late.filter(({ outcome }) => outcome !== 'refused').length >= atRisk;
  });
  await master.kill();
  await replica.resume();
  const isMaster = async () => (await replica.admin.role())[0] === 'master';
  await waitUntil('the promotion', withinMs, isMaster);
  await master.start(); // As the replica of the new one.
  return cutAt;
}

async function vouchersOn(
  { connections, vouchers }: Sale,
  cluster: RedisCluster,
  master: OwnRedis,
): Promise<string[]> {
  const ids = vouchers.map(({ id }) => id);
  const owners = await Promise.all(
    ids.map((id) => cluster.ownerOf(connections.saleKeys.of(id).orders)),
  );
  return ids.filter((_, index) => owners[index] === master);
}

async function recordAll({ connections }: Sale, settings: Settings): Promise<void> {
  const end = startWorker(settings);
  await untilDrained(connections);
  await end();
}

/** Their buyers were told `accepted`, and MySQL never had them. */
async function lostOf(sale: Sale) {
  const lost = [];
  for (const voucher of sale.vouchers) {
    const facts = await factsOf(sale.connections, voucher.id);
    expect(usersWithSeveralOrders(facts)).toBe(0);
    const recorded = new Set(confirmed(facts).map(({ id }) => id));
    lost.push(...acceptedOf(sale, voucher).filter(({ orderId = '' }) => !recorded.has(orderId)));
  }
  return lost;
}
