/**
 * Redis and MySQL compared, on real stores: no alarm while sales go on, each difference found, and
 * a repair that sells exactly the stock, once to each user, and changes nothing the second time.
 */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { change } from '../../src/service/connections/mysql.ts';
import type { Order } from '../../src/service/domain.ts';
import {
  type Difference,
  differencesOf,
  orderDifferences,
  type Sale,
  type SalePart,
} from '../../src/service/orders/reconcile/differences.ts';
import { readSales } from '../../src/service/orders/reconcile/read-sales.ts';
import { rebuild } from '../../src/service/orders/reconcile/rebuild.ts';
import {
  compare,
  type ReconciledVoucher,
  reconcile,
} from '../../src/service/orders/reconcile/reconcile.ts';
import { repair, repairVoucher } from '../../src/service/orders/reconcile/repair.ts';
import { type OwnSale, ownSale } from '../support/own-sale.ts';
import { startWorker, usersUpTo } from '../support/sale.ts';

const stock = 8;
let sale: OwnSale;

beforeEach(async () => {
  sale = await ownSale({ stock });
});

const kindsOf = (vouchers: readonly ReconciledVoucher[]) =>
  [...new Set(vouchers.flatMap(({ differences }) => differences).map(({ kind }) => kind))].sort();
const consistent = { verdict: 'consistent' };
/** On the same stores. */
const endingSoon = () => sale.another({ stock: 5, endTime: new Date(Date.now() + 500) });

describe('two stores that agree', () => {
  test('are consistent before a sale, with orders in flight, and with recorded ones', async () => {
    expect(await reconcile(sale.connections)).toMatchObject(consistent);
    await sale.buyAs(usersUpTo(2));
    await sale.record();
    await sale.buyAs(usersUpTo(3, 3));
    const { verdict, vouchers } = await reconcile(sale.connections);
    expect(verdict).toBe('consistent');
    expect(vouchers).toMatchObject([
      { voucherId: sale.id, initialStock: 8, stock: 3, inFlight: 3, recorded: 2, buyers: 5 },
    ]);
  });

  test('are read in parts, when their orders do not fit in memory', async () => {
    sale = await sale.another({ stock: 100 });
    await sale.buyAs(usersUpTo(60));
    await sale.record();
    await sale.buyAs(usersUpTo(40, 61));
    const held: number[] = [];
    const users = new Set<string>();
    const part = ({ buyers, inStream, inMysql, noted }: SalePart) => {
      held.push(Math.max(buyers.size, inStream.length, inMysql.size, noted.size));
      for (const user of buyers.keys()) users.add(user);
    };
    const read = await readSales(sale.connections, { part, whole: (each) => each }, sale.id, 20);
    expect(held).toHaveLength(5);
    expect(Math.max(...held)).toBeLessThanOrEqual(25);
    expect(users.size).toBe(100);
    expect(read.sales).toMatchObject([{ recorded: 60, streamed: 40, isMoving: false }]);
  });

  test('are consistent at every moment while many buy and workers record', async () => {
    const buyer = await (await sale.another({ stock: 1_500 })).elsewhere();
    const stop = startWorker(await sale.otherProcess());
    let isOver = false;
    const buying = buyer.buyAs(usersUpTo(1_500)).finally(() => {
      isOver = true;
    });
    const verdicts: string[] = [];
    let moving = 0;
    while (!isOver) {
      const { verdict, vouchers, passing } = await reconcile(sale.connections);
      verdicts.push(passing === 0 ? verdict : `${verdict}, ${passing} were gone`);
      moving += vouchers.filter(({ isMoving }) => isMoving).length;
    }
    await buying;
    await stop();
    expect(new Set(verdicts)).toEqual(new Set(['consistent']));
    expect(moving).toBeGreaterThan(0);
  });

  test('are compared, and rebuilt, without a look at the orders of a sale that is over and has no keys', async () => {
    const over = await endingSoon();
    await over.buyAs(usersUpTo(3));
    await sale.buyAs(usersUpTo(2));
    await sale.record();
    const hasEnded = () => Date.now() > over.voucher.endTime.getTime();
    await waitUntil('the end of the sale', 20_000, hasEnded);
    const whose = watchOrdersRead();
    await reconcile(sale.connections);
    expect(new Set(whose)).toEqual(new Set([over.id, sale.id]));
    await over.loseRedis();
    whose.length = 0;
    expect(await reconcile(sale.connections)).toMatchObject({ ...consistent, removed: 1 });
    expect(await reconcile(sale.connections, over.id)).toMatchObject({ vouchers: [], removed: 1 });
    const { restored } = await rebuild(sale.connections, () => {}, 100);
    expect(restored.map(({ voucherId }) => voucherId)).toEqual([sale.id]);
    expect(new Set(whose)).toEqual(new Set([sale.id]));
  });
});

/** The voucher of each order that these connections read from MySQL, from now on. */
function watchOrdersRead(): string[] {
  const whose: string[] = [];
  const { pool } = sale;
  const execute = pool.execute.bind(pool) as (...args: unknown[]) => Promise<[unknown, never]>;
  const watching = async (...args: unknown[]) => {
    const answer = await execute(...args);
    if (/FROM orders/.test(String(args[0])))
      whose.push(...(answer[0] as Order[]).map(({ voucherId }) => voucherId));
    return answer;
  };
  vi.spyOn(pool, 'execute').mockImplementation(watching as typeof pool.execute);
  return whose;
}

type Orders = readonly (Order | undefined)[];
/** Done to a sale with recorded orders of users 1 to 3, and orders in flight of 4 and 5. */
type How = (recorded: Orders, queued: Orders) => Promise<unknown>;
type Damage = [how: How, finds: readonly Difference['kind'][]];

const entryOf = async (order: Order | undefined) => {
  const entries = await sale.redis.xrange(sale.keys.orders, '-', '+');
  return entries.find(([, fields]) => fields.includes(order?.id ?? ''))?.[0] ?? '';
};
const addStock = (count: number) => sale.redis.hincrby(sale.keys.voucher(sale.id), 'stock', count);
const forget = (...orders: readonly (Order | undefined)[]) =>
  sale.redis.hdel(sale.keys.buyers(sale.id), ...orders.map((order) => order?.userId ?? ''));

const loseSales: How = async ([first], [second]) => {
  await forget(first, second);
  await addStock(2);
};
const loseEntry: How = async (_, [order]) =>
  sale.redis.xdel(sale.keys.orders, await entryOf(order));
const loseNote: How = (_, [order]) => sale.redis.hdel(sale.keys.queued, order?.id ?? '');
const keepNote: How = ([order]) =>
  sale.redis.hset(sale.keys.queued, order?.id ?? '', `${sale.id}:1`);
const failOnly: How = async (recorded, queued) => {
  const [{ id = '', voucherId = '', userId = '', requestId = '' } = {}] = queued;
  await loseEntry(recorded, queued);
  await loseNote(recorded, queued);
  const values = [id, voucherId, userId, requestId, 'failed', 'undeliverable'];
  const columns = 'id, voucher_id, user_id, request_id, status, reason';
  await change(sale.pool, `INSERT INTO orders (${columns}) VALUES (?, ?, ?, ?, ?, ?)`, values);
};
const loseStream = () => sale.redis.del(sale.keys.orders, sale.keys.queued);

const damages: Readonly<Record<string, Damage>> = {
  'a stock that is too high': [() => addStock(2), ['stock']],
  'a stock that is too low': [() => addStock(-2), ['stock']],
  'a buyer of a recorded order who is forgotten': [([one]) => forget(one), ['order-without-buyer']],
  'sales that Redis has lost': [loseSales, ['order-without-buyer', 'stock']],
  'an order that is in no stream and not recorded': [loseEntry, ['order-lost', 'stock']],
  'every order of the stream': [loseStream, ['order-lost', 'stock']],
  'a failed order that was not given back': [failOnly, ['buyer-of-failed-order', 'stock']],
  'a recorded order whose state is still queued': [keepNote, ['note-without-order']],
  'a queued order that nobody can look up': [loseNote, ['order-without-note']],
};

describe.each(Object.entries(damages))('%s', (_, [how, finds]) => {
  test('is found and repaired, and then exactly the stock is sold, once to each user', async () => {
    const recorded = await sale.buyAs(usersUpTo(3));
    await sale.record();
    const queued = await sale.buyAs(usersUpTo(2, 4));
    await how(recorded, queued);

    const found = await reconcile(sale.connections);
    expect(found.verdict).toBe('inconsistent');
    expect(kindsOf(found.vouchers)).toEqual(finds);
    const first = await repair(sale.connections);
    expect(first.after).toMatchObject(consistent);
    expect(first.repaired.length).toBeGreaterThan(0);
    expect(await repair(sale.connections)).toMatchObject({ repaired: [] });

    // The stock of a voucher may be closed for a moment after a repair: see reopensMs.
    await sale.redis.hdel(sale.keys.voucher(sale.id), 'reopensMs');
    await sale.buyAs(usersUpTo(3 * stock));
    await sale.record();
    const { confirmed, users } = await sale.recorded();
    expect([confirmed.length, users]).toEqual([stock, stock]);
    for (const { id } of recorded) expect(confirmed.map((order) => order.id)).toContain(id);
    expect(await reconcile(sale.connections)).toMatchObject(consistent);
  });
});

test('an order that was lost is recorded under its own id, and its user is told so', async () => {
  const order = await sale.bought(7);
  await sale.redis.del(sale.keys.orders, sale.keys.queued);
  expect(await sale.find(order)).toBeNull();
  await repair(sale.connections);
  expect(await sale.find(order)).toMatchObject({ status: 'queued' });
  await sale.record();
  await sale.expectConfirmed(order);
});

/** One after the other buys, from this user on, while the work goes on. @returns their orders. */
async function buyMeanwhile(
  from: number,
  work: (sold: readonly Order[]) => Promise<unknown>,
): Promise<Order[]> {
  const buyer = await sale.elsewhere();
  const accepted: Order[] = [];
  let isOver = false;
  const working = work(accepted).finally(() => {
    isOver = true;
  });
  for (let user = from; !isOver; user++) accepted.push(...(await buyer.buyAs([user])));
  await working;
  return accepted;
}

test('two repairs at the same time are as one, also while many buy', async () => {
  const initialStock = 20_000; // More than can be sold meanwhile.
  sale = await sale.another({ stock: initialStock });
  const recorded = await sale.buyAs(usersUpTo(3));
  await sale.record();
  await sale.redis.hdel(sale.keys.buyers(sale.id), '1', '2');
  await addStock(4);
  const others = [await sale.otherProcess(), await sale.otherProcess()];
  const stop = startWorker(await sale.otherProcess());
  const sold = await buyMeanwhile(4, async (soldYet) => {
    const found = await Promise.all(others.map((other) => compare(other, sale.id)));
    const count = soldYet.length;
    await waitUntil('another sale', 20_000, () => soldYet.length > count);
    // Each of the two has seen the whole damage, and neither that the other one repairs it.
    const repairs = found.map(({ reconciliation: { vouchers }, epoch }, index) =>
      repairVoucher(others[index] as Connections, vouchers[0] as ReconciledVoucher, epoch),
    );
    const counts = (await Promise.all(repairs)).map(({ length }) => length);
    expect(counts.sort()).toEqual([2, 3]); // Both add the buyers; the stock is corrected once.
    const { after, repaired } = await repair(sale.connections, sale.id);
    expect([after.verdict, repaired]).toEqual(['consistent', []]);
  });
  await stop();
  await sale.record();
  expect(sold.length).toBeGreaterThan(0);
  const { confirmed, failed } = await sale.recorded();
  const idsOf = (orders: readonly { readonly id: string }[]) => orders.map(({ id }) => id).sort();
  expect([idsOf(confirmed), failed]).toEqual([idsOf([...recorded, ...sold]), []]);
  const { verdict, vouchers } = await reconcile(sale.connections, sale.id);
  expect([verdict, vouchers[0]?.stock]).toEqual(['consistent', initialStock - confirmed.length]);
});

test('an order that MySQL has for another user is told so, also when it is read in parts', async () => {
  await sale.buyAs(usersUpTo(6));
  await sale.record();
  const moved = 'UPDATE orders SET user_id = 1001 WHERE voucher_id = ? AND user_id = 4';
  expect(await change(sale.pool, moved, [sale.id])).toBe(1);
  const kinds = async (most: number) => {
    const whole = (read: Sale, parts: readonly Difference[][]) => differencesOf(read, parts.flat());
    const reader = { part: orderDifferences, whole };
    const { sales } = await readSales(sale.connections, reader, sale.id, most);
    return sales.flat().map(({ kind }) => kind);
  };
  for (const most of [100, 2]) expect(await kinds(most)).toEqual(['order-of-another-user']);
  const { after, repaired } = await repair(sale.connections);
  expect([after.verdict, repaired]).toEqual(['inconsistent', []]);
});

test('a sale that Redis does not have is found, and a repair leaves it alone', async () => {
  await sale.buyAs(usersUpTo(2));
  await sale.redis.del(sale.keys.voucher(sale.id));
  const { after, repaired } = await repair(sale.connections, sale.id);
  expect(after).toMatchObject({ verdict: 'inconsistent', vouchers: [{ stock: null }] });
  expect(kindsOf(after.vouchers)).toEqual(['sale-missing']);
  expect(repaired).toEqual([]);
  expect(await sale.redis.exists(sale.keys.voucher(sale.id))).toBe(0);
});

test('a stock is not raised while two orders have one buyer: rather too few are sold', async () => {
  await sale.buyAs(usersUpTo(3));
  await sale.record();
  const { id, voucherId, userId, requestId } = sale.order(1);
  const insert = 'INSERT INTO orders (id, voucher_id, user_id, request_id) VALUES (?, ?, ?, ?)';
  await change(sale.pool, insert, [id, voucherId, userId, requestId]);
  const take = 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?';
  await change(sale.pool, take, [voucherId]);
  await addStock(-3); // One for the second order, and two too many.
  const { after } = await repair(sale.connections);
  expect(after.verdict).toBe('inconsistent');
  expect(kindsOf(after.vouchers)).toEqual(['buyer-of-another-order', 'stock']);
  expect(await sale.stockInRedis()).toBe(2);
});

test('a stock of MySQL that is wrong is found, and left to a person', async () => {
  const add = 'UPDATE seckill_stock SET stock = stock + 1 WHERE voucher_id = ?';
  await change(sale.pool, add, [sale.id]);
  const { after, repaired } = await repair(sale.connections, sale.id);
  expect(kindsOf(after.vouchers)).toEqual(['stock-of-mysql']);
  expect(repaired).toEqual([]);
});
