/**
 * "Sold out" from an instance's memory, on a real Redis: it costs Redis nothing, and it is the
 * answer that Redis would give, also when stock comes back, the sale ends or the connection breaks.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { responsesMatchDatabase } from '../../src/service/audit/checks/responses-match-database.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import {
  type Order,
  reopensAfterMs,
  soldOutKeptMs,
  type Voucher,
} from '../../src/service/domain.ts';
import { SoldOutMemory } from '../../src/service/inventory/shared/sold-out-memory.ts';
import { addBuyers, repairPlace } from '../../src/service/orders/reconcile/repair.ts';
import type { HistoryEvent } from '../../src/service/trace/history.ts';
import { callsOf } from '../support/connections.ts';
import { type OwnSale, quietSale } from '../support/own-sale.ts';
import { firstTerms, someOrder, someVoucherId } from '../support/sale.ts';
import { facts } from '../unit/facts.ts';

let sale: OwnSale;
/** Two instances: each has its own connection, and its own memory. */
let instances: [OwnSale, OwnSale];
let users = 1_000;

const nextUser = () => String(++users);

async function onSale(changes: Partial<Voucher>): Promise<void> {
  sale = await quietSale(changes);
  instances = [sale, await sale.elsewhere()];
}

async function sellOut(): Promise<Order[]> {
  const orders: Order[] = [];
  while (orders.length < sale.voucher.stock) orders.push(await sale.bought(nextUser()));
  return orders;
}

/** A purchase that costs Redis nothing, as a hundred in a row show. */
async function remembers(instance: OwnSale): Promise<boolean> {
  const calls = () => callsOf(sale.redis, 'evalsha');
  const before = await calls();
  for (let count = 0; count < 100; count++)
    expect(await instance.buy(nextUser())).toMatchObject({ reason: 'sold-out' });
  return (await calls()) - before <= 3;
}

const untilRemembered = async () => {
  for (const instance of instances)
    await waitUntil('the instance to remember', 20_000, () => remembers(instance));
};

test('a voucher that is sold out costs Redis next to nothing, for as long as it is', async () => {
  await onSale({ stock: 3 });
  await sellOut();
  await untilRemembered();
  const until = performance.now() + 3 * soldOutKeptMs;
  while (performance.now() < until) {
    expect(await remembers(instances[1])).toBe(true);
    await sleep(50);
  }
});

test.each<[string, number, number]>([
  ['a change that takes the last units', 5, 3],
  ['a repair that takes the last units', 5, 3],
  ['a voucher that is created without stock', 0, 0],
])('is remembered after %s, too', async (how, stock, sold) => {
  await onSale({ stock });
  for (let count = 0; count < sold; count++) await sale.bought(nextUser());
  const keys = [sale.keys.voucher(sale.id), sale.keys.buyers(sale.id), sale.keys.epoch];
  const epoch = (await sale.redis.get(sale.keys.epoch)) ?? '';
  const { beginTime, endTime } = sale.voucher;
  const [begin, end] = [beginTime, endTime].map((at) => String(at.getTime()));
  const times = [begin ?? '', end ?? '', ''];
  if (how.startsWith('a change')) {
    const args = [epoch, '1', '7', '0', String(sold), ...times, String(reopensAfterMs), ''];
    const answer = await runScript(sale.redis, loadScript('sale/change-voucher'), keys, args);
    expect(answer).toEqual(['changed', end]);
  } else if (how.startsWith('a repair')) {
    const args = [epoch, String(sold), '', String(reopensAfterMs), '0', '0', '', ...times];
    const answer = await runScript(sale.redis, loadScript('sale/correct-sale'), keys, args);
    expect(answer).toBe('corrected');
  }
  await untilRemembered();
});

test('a buyer is told of the order, by an instance that remembers', async () => {
  await onSale({ stock: 3 });
  const [order] = await sellOut();
  await untilRemembered();
  const { id: orderId, userId } = order as Order;
  const queued = { kind: 'accepted', orderId, status: 'queued' };
  const refused = { kind: 'refused', reason: 'already-ordered', orderId };
  for (const instance of instances) {
    expect(await instance.sell(order as Order)).toEqual(queued);
    expect(await instance.buy(userId)).toEqual(refused);
  }
});

test('after the end of the sale no instance remembers', async () => {
  const endTime = new Date(Date.now() + 2_500);
  await onSale({ stock: 1, endTime });
  await sellOut();
  await untilRemembered();
  // The memory is kept fresh until the end. Redis has the same clock as this process.
  while (Date.now() < endTime.getTime())
    for (const instance of instances) await instance.buy(nextUser());
  for (const instance of instances)
    expect(await instance.buy(nextUser())).toMatchObject({ reason: 'ended' });
});

test('a connection that broke ends the memory: the next server may know less', async () => {
  await onSale({ stock: 1 });
  const client = sale.connections.redis('purchase');
  await sellOut();
  await untilRemembered();
  const closed = once(client, 'close');
  client.disconnect(true);
  await closed;
  await sale.redis.hset(sale.keys.voucher(sale.id), 'stock', '1');
  await expect.poll(() => client.status).toBe('ready');
  expect(await sale.buy(nextUser())).toMatchObject({ kind: 'accepted' });
});

/** Gives the stock of these orders back, as the worker does, and returns its history. */
async function giveBack(orders: readonly Order[]): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (const order of orders) {
    await sale.deadLetter(order);
    const at = String(process.hrtime.bigint());
    const { id: orderId, ...of } = order;
    events.push({ event: 'dead-lettered', at, instance: 'worker', orderId, ...of });
  }
  return events;
}

test('stock that comes back is for sale in no instance before it is in all of them', async () => {
  await onSale({ stock: 5 });
  const failed = (await sellOut()).slice(0, 3);
  await untilRemembered();
  const history = await giveBack(failed);
  const until = performance.now() + reopensAfterMs + 2 * soldOutKeptMs;
  while (performance.now() < until) {
    for (const instance of instances) await instance.buy(nextUser());
    await sleep(5);
  }
  const { attempts } = sale;
  expect(attempts.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(5 + 3);
  const rows = attempts.flatMap(({ outcome, orderId: id = '', userId }) => {
    const isFailed = failed.some((order) => order.id === id);
    const how = isFailed
      ? ({ status: 'failed', reason: 'undeliverable' } as const)
      : ({ status: 'confirmed', reason: null } as const);
    return outcome === 'accepted' ? [{ id, userId, ...how }] : [];
  });
  const whole = { ...facts({ orders: rows, attempts, history }), initialStock: 5 };
  expect(responsesMatchDatabase.cases(whole)).toEqual([]);
});

test('a buyer who was restored by a repair is told of the order, although the voucher stays sold out', async () => {
  await onSale({ stock: 3 });
  await sellOut();
  await untilRemembered();
  const order = sale.order(nextUser());
  const { voucher, connections } = sale;
  const epoch = (await sale.redis.get(sale.keys.epoch)) ?? '';
  const read = { voucherId: sale.id, initialStock: 3, terms: firstTerms(voucher) };
  await addBuyers(repairPlace(connections, read, epoch), [order]);
  const accepted = { kind: 'accepted', orderId: order.id };
  await sleep(soldOutKeptMs); // What was remembered before the repair has ended.
  for (const instance of instances)
    for (let times = 0; times < 3; times++) {
      await waitUntil('the instance to remember', 20_000, () => remembers(instance));
      expect(await instance.sell(order)).toMatchObject(accepted);
    }
});

test('a voucher for which there is no room is not remembered, and pushes out no other', async () => {
  await onSale({ stock: 1 });
  const memory = new SoldOutMemory(sale.connections.redis('purchase'));
  const reads = () => callsOf(sale.redis, 'hscan');
  const ids = Array.from({ length: 10 }, someVoucherId);
  const shardOf = (id: string) => sale.connections.saleKeys.of(id);
  const learn = (id: string, buckets = 1) => {
    const answer = ['sold-out', '', 'last', 60_000];
    const large = { ...sale.voucher, id, stock: 1_800_000, buckets };
    memory.learn(large, shardOf(id), answer, performance.now());
  };
  const known = () => ids.filter((id) => memory.isTrueFor(someOrder(id, nextUser()), shardOf(id)));
  const before = await reads();
  for (const id of ids) learn(id);
  for (const id of ids) learn(id);
  await waitUntil('the buyers of nine', 20_000, () => known().length === 9, 1);
  expect((await reads()) - before).toBe(9);
  await sleep(soldOutKeptMs);
  learn(ids[9] as string);
  await waitUntil('the tenth', 20_000, () => known().length === 1, 1);
  expect(known()).toEqual([ids[9]]);

  await sleep(soldOutKeptMs);
  for (const id of ids) learn(id, 2); // In a bucket of two there are half as many buyers.
  await waitUntil('the buyers of all ten', 20_000, () => known().length === 10, 1);
});

test('the buyers of a large sale are read in parts, and each of them is told of the order', async () => {
  const stock = 50_000;
  await onSale({ stock });
  const { keys: shard, voucher, redis } = sale;
  const all = Array.from({ length: stock }, (_, index) => String(index + 1_000_000));
  const fields = Object.fromEntries(all.map((user) => [user, '7:once']));
  await redis.hset(shard.buyers(sale.id), fields);
  await redis.hset(shard.voucher(sale.id), { stock: 0, soldOutBy: '7' });
  const memory = new SoldOutMemory(sale.connections.redis('purchase'));
  const isSoldOutFor = (user: string) => memory.isTrueFor(sale.order(user), shard);
  const learn = () =>
    memory.learn(voucher, shard, ['sold-out', '', '7', 60_000], performance.now());
  learn();
  await waitUntil('the buyers to be read', 20_000, () => {
    learn(); // As each answer of Redis does.
    return Promise.resolve(isSoldOutFor('1'));
  });
  learn();
  expect(all.filter(isSoldOutFor)).toEqual([]);
});
