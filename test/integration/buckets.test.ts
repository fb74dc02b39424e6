/**
 * `lua-buckets` end to end: one voucher in four buckets over two shards, sold by two instances and
 * recorded by the workers of every stream.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { audit } from '../../src/service/audit/audit.ts';
import type { Facts } from '../../src/service/audit/facts.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { type Outcome, reopensAfterMs, type Voucher } from '../../src/service/domain.ts';
import { FinalStates } from '../../src/service/orders/find-order.ts';
import { listLetters, replayLetter } from '../../src/service/orders/letters.ts';
import { quiet } from '../support/connections.ts';
import { type OwnSale, ownSale } from '../support/own-sale.ts';
import { openStreamQueue, someOrder, startWorker, usersUpTo, wordOf } from '../support/sale.ts';

const settings = { SALE_SHARDS: '2', VOUCHER_BUCKETS: '3', CLAIM_IDLE_MS: '200' };
/** Declared by the voucher; the processes are configured for another number. */
const count = 4;
/** Of two instances. */
let sale: OwnSale;
let other: OwnSale;

async function onSale(stock: number, changes: Partial<Voucher> = { buckets: count }) {
  sale = await ownSale({ stock, ...changes }, settings);
  other = await sale.elsewhere();
}

const at = (number: number) => (number % 2 === 0 ? sale : other);
const stockOf = ({ voucher }: ShardKeys) => sale.redis.hget(voucher(sale.id), 'stock');
/** The first so many users of a bucket. */
const usersOf = (bucket: ShardKeys | undefined, most: number) =>
  usersUpTo(200)
    .filter((user) => sale.bucketOf(user) === bucket)
    .slice(0, most);
const answers = (outcomes: readonly Outcome[]) => outcomes.map(wordOf);
const accepted = (answered: readonly string[]) => answered.filter((each) => each === 'accepted');

/** A worker of all shards, until the test is over. */
const work = () => onTestFinished(startWorker(sale.connections));

async function audited(): Promise<Facts> {
  const drained = async () => (await openStreamQueue(sale.connections).depth()) === 0;
  await waitUntil('every stream to be drained', 20_000, drained);
  const facts = await sale.facts();
  const { findings } = audit({ ...facts, attempts: sale.attempts });
  expect(findings.filter(({ verdict }) => verdict === 'violated')).toEqual([]);
  return facts;
}

test('splits the stock evenly, and is audited as one voucher', async () => {
  await onSale(10);
  expect(await Promise.all(sale.buckets.map(stockOf))).toEqual(['3', '3', '2', '2']);
  expect(await sale.remaining()).toBe(10);
  expect(await sale.facts()).toMatchObject({
    redis: { stock: 10, buyers: {}, queued: [], isMoving: false },
  });
});

test('without a declared number it has as many as the processes are configured for', async () => {
  await onSale(9, { rung: 'lua-buckets' });
  work();
  const outcomes = await Promise.all(usersUpTo(12).map((user) => at(user).buy(user)));
  expect(accepted(answers(outcomes))).toHaveLength(9);
  const buckets = sale.connections.saleKeys.bucketsOf(sale.id, 4).map((each) => stockOf(each));
  expect(await Promise.all(buckets)).toEqual(['0', '0', '0', null]);
  expect((await audited()).mysql.orders).toHaveLength(9);
});

test('sells every unit once to many users at once, and then says sold-out to all', async () => {
  await onSale(50);
  work();
  const buying = usersUpTo(120).flatMap((user) => [sale.buy(user), other.buy(user)]);
  expect(accepted(answers(await Promise.all(buying)))).toHaveLength(50);
  expect(await sale.stockOfBuckets()).toMatchObject({ stock: 0, inTransit: 0 });
  expect(answers([await sale.buy(999)])).toEqual(['sold-out']);
  const { mysql, redis: inRedis } = await audited();
  expect(mysql.orders).toHaveLength(50);
  expect(inRedis).toMatchObject({ stock: 0 });
});

test('turns nobody away while any bucket has some, also when all users are of one bucket', async () => {
  await onSale(8);
  const outcomes: Outcome[] = [];
  for (const user of usersOf(sale.buckets[0], 9)) outcomes.push(await at(user).buy(user));
  expect(answers(outcomes)).toEqual([...Array<string>(8).fill('accepted'), 'sold-out']);
});

describe('a transfer that was cut in half', () => {
  test('strands nothing: the next buyer of a third bucket gets its units', async () => {
    await onSale(1);
    const [user = 0] = usersOf(sale.buckets[2], 1);
    const [from, to] = sale.buckets as [ShardKeys, ShardKeys];
    // As after lend.lua, in a process that was killed then.
    await sale.redis.hset(from.voucher(sale.id), 'stock', '0');
    const halfWay = { 'open:1': '1:1', 'sent:1': '1', moves: '1' };
    await sale.redis.hset(from.transfers(sale.id), halfWay);
    expect(await sale.stockOfBuckets()).toMatchObject({ stock: 1, inTransit: 1 });
    expect(await sale.remaining()).toBe(1);
    expect(answers([await at(user).buy(user)])).toEqual(['accepted']);
    expect(await sale.stockOfBuckets()).toEqual({ stock: 0, inTransit: 0, open: [], transfers: 2 });
    expect(await sale.redis.hget(to.transfers(sale.id), 'got:0')).toBe('1');
  });
});

describe('a dead letter', () => {
  const soldOut = ['sold-out', 'sold-out'];

  test('gives stock and buyer back to the bucket of the user, once', async () => {
    await onSale(8);
    const order = await sale.bought(1);
    await sale.buyAs(usersUpTo(5, 2));
    const bucket = sale.bucketOf(order.userId);
    const before = Number(await stockOf(bucket));
    await sale.deadLetter(order);
    await sale.deadLetter(order);
    expect(await stockOf(bucket)).toBe(String(before + 1));
    expect((await sale.stockOfBuckets()).stock).toBe(3);
    expect(await sale.buyer(1)).toBeNull();
    expect(await sale.redis.xlen(bucket.dead)).toBe(1);
  });

  test('of the last unit is sold again to a user of any bucket, once nobody remembers sold-out', async () => {
    await onSale(1);
    const order = await sale.bought(1);
    for (const user of [2, 3, 4, 5]) {
      expect(answers([await sale.buy(user), await other.buy(user)])).toEqual(soldOut);
    }
    await sale.deadLetter(order);
    const givenBackAt = performance.now();
    const answered: string[] = [];
    while (!answered.includes('accepted') && performance.now() - givenBackAt < 10_000) {
      answered.push(...answers([await at(answered.length).buy(100 + answered.length)]));
      await sleep(20);
    }
    expect(new Set(answered.slice(0, -1))).toEqual(new Set(['sold-out']));
    expect(answered.at(-1)).toBe('accepted');
    expect(performance.now() - givenBackAt).toBeGreaterThan(reopensAfterMs - 100);
    expect(answers([await sale.buy(900), await other.buy(901)])).toEqual(soldOut);
  });

  /** Of user 3. @returns the id of its letter. */
  async function letterOf(units: number): Promise<string> {
    await onSale(units);
    const order = await sale.bought(3);
    const { orders, queued } = sale.bucketOf('3');
    await sale.redis.del(orders, queued);
    await sale.deadLetter(order);
    const { letters } = await listLetters(sale.connections, 10);
    return letters.find(({ orderId }) => orderId === order.id)?.id ?? '';
  }
  const replay = (id: string) =>
    replayLetter(sale.connections, { next: () => someOrder('1', '1').id }, id);
  const anotherBucket = () => sale.buckets.find((each) => each !== sale.bucketOf(3)) as ShardKeys;
  const sellAllOf = (bucket: ShardKeys) => sale.redis.hset(bucket.voucher(sale.id), 'stock', '0');

  test('is replayed in the bucket of its user', async () => {
    const { orderId, isFirst } = await replay(await letterOf(8));
    expect(isFirst).toBe(true);
    expect(await sale.find({ id: orderId })).toMatchObject({ status: 'queued', userId: '3' });
    expect((await sale.stockOfBuckets()).stock).toBe(7);
  });

  test('is replayed with stock of another bucket, when that of its user has none', async () => {
    const letter = await letterOf(8);
    await sellAllOf(sale.bucketOf('3'));
    expect(await replay(letter)).toMatchObject({ isFirst: true });
    expect(await sale.stockOfBuckets()).toMatchObject({ stock: 5, transfers: 1, open: [] });
  });

  test('is not replayed when every bucket is empty, or when nothing proves it', async () => {
    const letter = await letterOf(8);
    for (const bucket of sale.buckets) await sellAllOf(bucket);
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_SOLD_OUT' });
    await sale.redis.del(anotherBucket().voucher(sale.id));
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_STOCK_MOVES' });
  });

  test('waits for stock that came back to another bucket', async () => {
    const letter = await letterOf(8);
    for (const bucket of sale.buckets) await sellAllOf(bucket);
    const reopensMs = Date.now() + reopensAfterMs;
    await sale.redis.hset(anotherBucket().voucher(sale.id), { stock: '1', reopensMs });
    expect(await replay(letter)).toMatchObject({ isFirst: true });
    expect((await sale.stockOfBuckets()).stock).toBe(0);
  });
});

test('a user who waits is told the final state, whichever shard has the order', async () => {
  await onSale(8);
  const orders = await sale.buyAs(usersUpTo(8));
  const finals = new FinalStates(sale.connections, quiet, () => true);
  const waiting = orders.map((order) => finals.of(order, AbortSignal.timeout(20_000)));
  await sleep(500); // At least one look, while all of them are queued.
  work();
  const states = await Promise.all(waiting);
  expect(states.map((state) => state?.status)).toEqual(orders.map(() => 'confirmed'));
});

test('sells nothing, and never says sold-out, while a bucket does not answer for its stock', async () => {
  await onSale(4);
  const [, second] = sale.buckets as [ShardKeys, ShardKeys];
  await sale.redis.del(second.voucher(sale.id));
  expect(await sale.remaining()).toBeNull();
  const outcomes: Outcome[] = [];
  for (let user = 1; user <= 40; user++) outcomes.push(await at(user).buy(user));
  const counted = answers(outcomes);
  expect(accepted(counted)).toHaveLength(3);
  expect(new Set(counted)).toEqual(new Set(['accepted', 'not-ready']));
  const ofLost = outcomes.filter((_, index) => sale.bucketOf(index + 1) === second);
  expect(new Set(answers(ofLost))).toEqual(new Set(['not-ready']));
});
