/**
 * `lua-buckets` end to end: one voucher in four buckets over two shards, sold by two instances and
 * recorded by the workers of every stream.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { collectFacts } from '../../src/audit/collect.ts';
import type { Attempt, Facts } from '../../src/audit/facts.ts';
import { type Connections, readEpoch } from '../../src/connections/connections.ts';
import { change } from '../../src/connections/mysql.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import { type Order, type Outcome, reopensAfterMs, type Voucher } from '../../src/domain.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { stockOfBuckets } from '../../src/inventory/shared/bucket-stock.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { openRung } from '../../src/ladder/open-rung.ts';
import { freeLease } from '../../src/locks/none.ts';
import { deadLetter } from '../../src/orders/dead-letters.ts';
import { FinalStates } from '../../src/orders/final-states.ts';
import { findOrder } from '../../src/orders/find-order.ts';
import { listLetters } from '../../src/orders/letters.ts';
import { workOrders } from '../../src/orders/order-worker.ts';
import { replayLetter } from '../../src/orders/replay-letter.ts';
import { openConnections, quiet, quietRedis } from '../support/connections.ts';
import { openStreamQueue, someOrder, someVoucher } from '../support/sale.ts';

const settings = {
  ...{ REDIS_URL: quietRedis(), SALE_SHARDS: '2', VOUCHER_BUCKETS: '3' },
  ...{ CLAIM_IDLE_MS: '200', BATCH_GATHER_MS: '0' },
};
/** Declared by the voucher; the processes are configured for another number. */
const count = 4;
const rung = 'lua-buckets';
const railed = { rails: true, workMs: 0, retries: 0 };

let all: Connections[];
let instances: Inventory[];
let connections: Connections;
let attempts: Attempt[];
let voucher: Voucher;

beforeEach(async () => {
  attempts = [];
  all = [openConnections(settings), openConnections(settings)];
  [connections] = all as [Connections];
  const epoch = await readEpoch(connections.mysql());
  for (const each of all) each.redis('admin');
  instances = [];
  for (const each of all) {
    const options = { onReleaseFailed: () => {} };
    instances.push((await openRung(rung, each, options)).inventory);
  }
  for (const { orders, queued, dead, replayed, epoch: key } of connections.saleKeys.shards) {
    await redis().del(orders, queued, dead, replayed);
    await redis().set(key, epoch);
  }
});
afterEach(async () => {
  await change(connections.mysql(), 'UPDATE vouchers SET end_time = NOW(3) WHERE id = ?', [
    voucher.id,
  ]);
  for (const each of all) await each.close();
});

const redis = () => connections.redis('admin');
const now = () => String(process.hrtime.bigint());
const instance = (number: number) => instances[number % instances.length] as Inventory;
const stock = () => stockOfBuckets(redis(), connections.saleKeys, voucher.id, count);

async function onSale(units: number): Promise<void> {
  voucher = await someVoucher(connections, { stock: units, lab: railed, rung, buckets: count });
  await instance(0).prepare(voucher);
}

/** Buys, and keeps the answer for the audit. */
async function buy(order: Order, at = 0): Promise<Outcome> {
  const sentAt = now();
  const outcome = await instance(at).sell(order, voucher, freeLease);
  const { userId, requestId } = order;
  const { kind, ...answer } = outcome;
  const times = { sentAt, answeredAt: now(), latencyMs: 0 };
  attempts.push({ ...answer, outcome: kind, userId, requestId, ...times });
  return outcome;
}
const buyAs = (user: number, at = user) => buy(someOrder(voucher.id, String(user)), at);
const answers = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => (outcome.kind === 'refused' ? outcome.reason : outcome.kind));

/** A worker of all shards, until the test is over. */
function startWorker(): void {
  const stop = new AbortController();
  const working = workOrders(connections, openStreamQueue(connections), quiet, stop.signal);
  onTestFinished(() => {
    stop.abort();
    return working;
  });
}

async function audited(): Promise<Facts> {
  const drained = async () => (await openStreamQueue(connections).depth()) === 0;
  await waitUntil('every stream to be drained', 20_000, drained);
  const facts = await collectFacts(connections, voucher.id);
  if (!facts) throw new Error('the voucher is gone');
  const judged = audit({ ...facts, attempts });
  const wrong = judged.findings.filter(({ verdict }) => verdict === 'violated');
  expect(wrong, JSON.stringify(wrong)).toEqual([]);
  return facts;
}

test('splits the stock evenly, and is audited as one voucher', async () => {
  await onSale(10);
  const stocks = await Promise.all(
    connections.saleKeys.bucketsOf(voucher.id, count).map((each) => stockOf(each)),
  );
  expect(stocks).toEqual(['3', '3', '2', '2']);
  expect(await instance(0).remaining(voucher)).toBe(10);
  expect(await collectFacts(connections, voucher.id)).toMatchObject({
    redis: { stock: 10, buyers: {}, queued: [], isMoving: false },
  });
});

test('without a declared number it has as many as the processes are configured for', async () => {
  voucher = await someVoucher(connections, { stock: 9, lab: railed, rung });
  await instance(0).prepare(voucher);
  startWorker();
  const users = Array.from({ length: 12 }, (_, index) => index + 1);
  const counted = answers(await Promise.all(users.map((user) => buyAs(user))));
  expect(counted.filter((answer) => answer === 'accepted')).toHaveLength(9);
  const buckets = connections.saleKeys.bucketsOf(voucher.id, 4).map((each) => stockOf(each));
  expect(await Promise.all(buckets)).toEqual(['0', '0', '0', null]);
  expect((await audited()).mysql.orders).toHaveLength(9);
});

const stockOf = ({ voucher: key }: ShardKeys) => redis().hget(key(voucher.id), 'stock');

test('sells every unit once to many users at once, and then says sold-out to all', async () => {
  await onSale(50);
  startWorker();
  const users = Array.from({ length: 120 }, (_, index) => index + 1);
  const outcomes = await Promise.all(users.flatMap((user) => [buyAs(user, 0), buyAs(user, 1)]));
  const counted = answers(outcomes);
  expect(counted.filter((answer) => answer === 'accepted')).toHaveLength(50);
  expect(await stock()).toMatchObject({ stock: 0, inTransit: 0 });
  expect(answers([await buyAs(999)])).toEqual(['sold-out']);
  const { mysql, redis: inRedis } = await audited();
  expect(mysql.orders).toHaveLength(50);
  expect(inRedis).toMatchObject({ stock: 0 });
});

test('turns nobody away while any bucket has some, also when all users are of one bucket', async () => {
  await onSale(8);
  const { bucketOf, bucketsOf } = connections.saleKeys;
  const [first] = bucketsOf(voucher.id, count);
  const users = Array.from({ length: 200 }, (_, index) => index + 1)
    .filter((user) => bucketOf(voucher.id, String(user), count) === first)
    .slice(0, 9);
  const outcomes: Outcome[] = [];
  for (const user of users) outcomes.push(await buyAs(user));
  expect(answers(outcomes)).toEqual([...Array<string>(8).fill('accepted'), 'sold-out']);
});

describe('a transfer that was cut in half', () => {
  test('strands nothing: the next buyer of a third bucket gets its units', async () => {
    await onSale(1);
    const { bucketOf, bucketsOf } = connections.saleKeys;
    const third = bucketsOf(voucher.id, count)[2];
    const users = Array.from({ length: 100 }, (_, index) => index + 1);
    const user = users.find((each) => bucketOf(voucher.id, String(each), count) === third) ?? 0;
    const [from, to] = connections.saleKeys.bucketsOf(voucher.id, count) as [ShardKeys, ShardKeys];
    // As after lend.lua, in a process that was killed then.
    await redis().hset(from.voucher(voucher.id), 'stock', '0');
    await redis().hset(from.transfers(voucher.id), {
      ...{ 'open:1': '1:1', 'sent:1': '1', moves: '1' },
    });
    expect(await stock()).toMatchObject({ stock: 1, inTransit: 1 });
    expect(await instance(0).remaining(voucher)).toBe(1);
    expect(answers([await buyAs(user)])).toEqual(['accepted']);
    expect(await stock()).toEqual({ stock: 0, inTransit: 0, open: [], transfers: 2 });
    expect(await redis().hget(to.transfers(voucher.id), 'got:0')).toBe('1');
  });
});

describe('a dead letter', () => {
  async function failed(order: Order): Promise<void> {
    const { saleKeys } = connections;
    const death = { reason: 'undeliverable', deliveries: 5 } as const;
    await deadLetter(connections.mysql(), redis(), saleKeys, order, death);
  }

  test('gives stock and buyer back to the bucket of the user, once', async () => {
    await onSale(8);
    const orders = Array.from({ length: 6 }, (_, index) =>
      someOrder(voucher.id, String(index + 1)),
    );
    for (const order of orders) await buy(order);
    const [order] = orders as [Order];
    const bucket = connections.saleKeys.bucketOf(voucher.id, order.userId, count);
    const before = Number(await stockOf(bucket));
    await failed(order);
    await failed(order);
    expect(await stockOf(bucket)).toBe(String(before + 1));
    expect((await stock()).stock).toBe(3);
    expect(await redis().hget(bucket.buyers(voucher.id), order.userId)).toBeNull();
    expect(await redis().xlen(bucket.dead)).toBe(1);
  });

  test('of the last unit is sold again to a user of any bucket, once nobody remembers sold-out', async () => {
    await onSale(1);
    const order = someOrder(voucher.id, '1');
    await buy(order);
    for (const user of [2, 3, 4, 5]) {
      expect(answers([await buyAs(user, 0), await buyAs(user, 1)])).toEqual([
        'sold-out',
        'sold-out',
      ]);
    }
    await failed(order);
    const givenBackAt = performance.now();
    const answered: string[] = [];
    while (!answered.includes('accepted') && performance.now() - givenBackAt < 10_000) {
      answered.push(...answers([await buyAs(100 + answered.length, answered.length)]));
      await sleep(20);
    }
    expect(new Set(answered.slice(0, -1))).toEqual(new Set(['sold-out']));
    expect(answered.at(-1)).toBe('accepted');
    expect(performance.now() - givenBackAt).toBeGreaterThan(reopensAfterMs - 100);
    expect(answers([await buyAs(900, 0), await buyAs(901, 1)])).toEqual(['sold-out', 'sold-out']);
  });

  /** Of user 3. @returns the id of its letter. */
  async function letterOf(units: number): Promise<string> {
    await onSale(units);
    const order = someOrder(voucher.id, '3');
    await buy(order);
    const { orders, queued } = connections.saleKeys.bucketOf(voucher.id, '3', count);
    await redis().del(orders, queued);
    await failed(order);
    const { letters } = await listLetters(connections, 10);
    return letters.find(({ orderId }) => orderId === order.id)?.id ?? '';
  }
  const replay = (id: string) =>
    replayLetter(connections, { next: async () => someOrder('1', '1').id }, id);
  const sellAllOf = (bucket: ShardKeys) => redis().hset(bucket.voucher(voucher.id), 'stock', '0');

  test('is replayed in the bucket of its user', async () => {
    const { orderId, isFirst } = await replay(await letterOf(8));
    expect(isFirst).toBe(true);
    expect(await findOrder(connections, orderId)).toMatchObject({ status: 'queued', userId: '3' });
    expect((await stock()).stock).toBe(7);
  });

  test('is replayed with stock of another bucket, when that of its user has none', async () => {
    const letter = await letterOf(8);
    await sellAllOf(connections.saleKeys.bucketOf(voucher.id, '3', count));
    expect(await replay(letter)).toMatchObject({ isFirst: true });
    expect(await stock()).toMatchObject({ stock: 5, transfers: 1, open: [] });
  });

  test('is not replayed when every bucket is empty, or when nothing proves it', async () => {
    const letter = await letterOf(8);
    const buckets = connections.saleKeys.bucketsOf(voucher.id, count);
    for (const bucket of buckets) await sellAllOf(bucket);
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_SOLD_OUT' });
    const own = connections.saleKeys.bucketOf(voucher.id, '3', count);
    const other = buckets.find((each) => each !== own) as ShardKeys;
    await redis().del(other.voucher(voucher.id));
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_STOCK_MOVES' });
  });

  test('waits for stock that came back to another bucket', async () => {
    const letter = await letterOf(8);
    for (const bucket of connections.saleKeys.bucketsOf(voucher.id, count)) await sellAllOf(bucket);
    const [other] = connections.saleKeys
      .bucketsOf(voucher.id, count)
      .filter((each) => each !== connections.saleKeys.bucketOf(voucher.id, '3', count)) as [
      ShardKeys,
    ];
    const reopensMs = Date.now() + reopensAfterMs;
    await redis().hset(other.voucher(voucher.id), { stock: '1', reopensMs });
    expect(await replay(letter)).toMatchObject({ isFirst: true });
    expect((await stock()).stock).toBe(0);
  });
});

test('a user who waits is told the final state, whichever shard has the order', async () => {
  await onSale(8);
  const orders = Array.from({ length: 8 }, (_, index) => someOrder(voucher.id, String(index + 1)));
  for (const order of orders) await buy(order);
  const finals = new FinalStates(connections, quiet, () => true);
  const waiting = orders.map((order) => finals.of(order, AbortSignal.timeout(20_000)));
  await sleep(500); // At least one look, while all of them are queued.
  startWorker();
  const states = await Promise.all(waiting);
  expect(states.map((state) => state?.status)).toEqual(orders.map(() => 'confirmed'));
});

test('sells nothing, and never says sold-out, while a bucket does not answer for its stock', async () => {
  await onSale(4);
  const { bucketsOf, bucketOf } = connections.saleKeys;
  const [, second] = bucketsOf(voucher.id, count) as [ShardKeys, ShardKeys];
  await redis().del(second.voucher(voucher.id));
  expect(await instance(0).remaining(voucher)).toBeNull();
  const outcomes: Outcome[] = [];
  for (let user = 1; user <= 40; user++) outcomes.push(await buyAs(user));
  const counted = answers(outcomes);
  expect(counted.filter((answer) => answer === 'accepted')).toHaveLength(3);
  expect(new Set(counted)).toEqual(new Set(['accepted', 'not-ready']));
  const ofLost = outcomes.filter(
    (_, index) => bucketOf(voucher.id, String(index + 1), count) === second,
  );
  expect(new Set(answers(ofLost))).toEqual(new Set(['not-ready']));
});
