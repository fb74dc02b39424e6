/**
 * Redis and MySQL compared, on real stores: no alarm while sales go on, each difference found, and
 * a repair that sells exactly the stock, once to each user, and changes nothing the second time.
 */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { agreeOnEpoch } from '../../src/connections/epoch.ts';
import { change } from '../../src/connections/mysql.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import type { Order, Voucher } from '../../src/domain.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { findOrder } from '../../src/orders/find-order.ts';
import {
  type Difference,
  differencesOf,
  orderDifferences,
} from '../../src/orders/reconcile/differences.ts';
import { readSales } from '../../src/orders/reconcile/read-sales.ts';
import { rebuild } from '../../src/orders/reconcile/rebuild.ts';
import {
  compare,
  type ReconciledVoucher,
  reconcile,
} from '../../src/orders/reconcile/reconcile.ts';
import { repair, repairVoucher } from '../../src/orders/reconcile/repair.ts';
import type { Sale, SalePart } from '../../src/orders/reconcile/sale.ts';
import { quiet } from '../support/connections.ts';
import { type OwnStores, openProcess, ownStores } from '../support/own-stores.ts';
import { someOrder } from '../support/sale.ts';
import {
  buyAs,
  inMysql,
  onSale,
  startWorker,
  usersUpTo,
  workUntilEmpty,
} from '../support/selling.ts';

const stock = 8;
let stores: OwnStores;
let connections: Connections;
let voucher: Voucher;
let keys: ShardKeys;

beforeEach(async () => {
  stores = await ownStores();
  connections = await openProcess(stores);
  voucher = await onSale(connections, stock);
  keys = connections.saleKeys.of(voucher.id);
});

const redis = () => connections.redis('admin');
const kindsOf = (differences: readonly Difference[]) =>
  [...new Set(differences.map(({ kind }) => kind))].sort();

describe('two stores that agree', () => {
  test('are consistent before a sale, with orders in flight, and with recorded ones', async () => {
    expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
    await buyAs(connections, voucher, usersUpTo(2));
    await workUntilEmpty(connections);
    await buyAs(connections, voucher, usersUpTo(3, 3));
    const { verdict, vouchers } = await reconcile(connections);
    expect(verdict).toBe('consistent');
    expect(vouchers).toMatchObject([
      { voucherId: voucher.id, initialStock: 8, stock: 3, inFlight: 3, recorded: 2, buyers: 5 },
    ]);
  });

  test('are read in parts, when their orders do not fit in memory', async () => {
    const large = await onSale(connections, 100);
    await buyAs(connections, large, usersUpTo(60));
    await workUntilEmpty(connections);
    await buyAs(connections, large, usersUpTo(40, 61));
    const held: number[] = [];
    const users = new Set<string>();
    const part = ({ buyers, inStream, inMysql, noted }: SalePart) => {
      held.push(Math.max(buyers.size, inStream.length, inMysql.size, noted.size));
      for (const user of buyers.keys()) users.add(user);
    };
    const read = await readSales(connections, { part, whole: (sale) => sale }, large.id, 20);
    expect(held).toHaveLength(5);
    expect(Math.max(...held)).toBeLessThanOrEqual(25);
    expect(users.size).toBe(100);
    expect(read.sales).toMatchObject([{ recorded: 60, streamed: 40, isMoving: false }]);
  });

  test('are consistent at every moment while many buy and workers record', async () => {
    const large = await onSale(connections, 1_500);
    const buyer = await openProcess(stores);
    const stop = startWorker(await openProcess(stores));
    let isOver = false;
    const buying = buyAs(buyer, large, usersUpTo(1_500)).finally(() => {
      isOver = true;
    });
    const verdicts: string[] = [];
    let moving = 0;
    while (!isOver) {
      const { verdict, vouchers, passing } = await reconcile(connections);
      verdicts.push(passing === 0 ? verdict : `${verdict}, ${passing} were gone`);
      moving += vouchers.filter(({ isMoving }) => isMoving).length;
    }
    await buying;
    await stop();
    expect(new Set(verdicts)).toEqual(new Set(['consistent']));
    expect(moving).toBeGreaterThan(0);
  });

  test('need no keys of a sale that is over', async () => {
    const over = await onSale(connections, 5, 500);
    await buyAs(connections, over, [1]);
    await workUntilEmpty(connections);
    await redis().del(keys.voucher(over.id), keys.buyers(over.id));
    const isRemoved = async () => (await reconcile(connections)).removed === 1;
    await waitUntil('the end of the sale', 10_000, isRemoved);
    expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
  });

  test('are compared, and rebuilt, without a look at the orders of a sale that is over and has no keys', async () => {
    const over = await onSale(connections, 5, 500);
    await buyAs(connections, over, usersUpTo(3));
    await buyAs(connections, voucher, usersUpTo(2));
    await workUntilEmpty(connections);
    const hasEnded = async () => Date.now() > over.endTime.getTime();
    await waitUntil('the end of the sale', 10_000, hasEnded);
    const whose = watchOrdersRead();
    await reconcile(connections);
    expect(new Set(whose)).toEqual(new Set([over.id, voucher.id]));
    await redis().del(keys.voucher(over.id), keys.buyers(over.id));
    whose.length = 0;
    expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent', removed: 1 });
    expect(await reconcile(connections, over.id)).toMatchObject({ vouchers: [], removed: 1 });
    await agreeOnEpoch(connections, quiet);
    const { restored } = await rebuild(connections, () => {}, 100);
    expect(restored.map(({ voucherId }) => voucherId)).toEqual([voucher.id]);
    expect(new Set(whose)).toEqual(new Set([voucher.id]));
  });
});

/** The voucher of each order that these connections read from MySQL, from now on. */
function watchOrdersRead(): string[] {
  const whose: string[] = [];
  const pool = connections.mysql();
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

interface Damage {
  /** Done to a sale with recorded orders of users 1 to 3, and orders in flight of 4 and 5. */
  readonly how: (recorded: readonly Order[], queued: readonly Order[]) => Promise<unknown>;
  readonly finds: readonly Difference['kind'][];
}

const entryOf = async (order: Order | undefined) => {
  const entries = await redis().xrange(keys.orders, '-', '+');
  return entries.find(([, fields]) => fields.includes(order?.id ?? ''))?.[0] ?? '';
};
const addStock = (count: number) => redis().hincrby(keys.voucher(voucher.id), 'stock', count);
const forget = (...orders: readonly (Order | undefined)[]) =>
  redis().hdel(keys.buyers(voucher.id), ...orders.map((order) => order?.userId ?? ''));

const damages: Readonly<Record<string, Damage>> = {
  'a stock that is too high': { how: () => addStock(2), finds: ['stock'] },
  'a stock that is too low': { how: () => addStock(-2), finds: ['stock'] },
  'a buyer of a recorded order who is forgotten': {
    how: ([order]) => forget(order),
    finds: ['order-without-buyer'],
  },
  'sales that Redis has lost, of a recorded order and of one in flight': {
    how: async ([first], [second]) => {
      await forget(first, second);
      await addStock(2);
    },
    finds: ['order-without-buyer', 'stock'],
  },
  'an order that is in the stream no more, and is not recorded': {
    how: async (_, [order]) => redis().xdel(keys.orders, await entryOf(order)),
    finds: ['order-lost', 'stock'],
  },
  'every order of the stream': {
    how: () => redis().del(keys.orders, keys.queued),
    finds: ['order-lost', 'stock'],
  },
  'a failed order that was not given back': {
    how: async (_, [order]) => {
      const { id = '', voucherId = '', userId = '', requestId = '' } = order ?? {};
      await redis().xdel(keys.orders, await entryOf(order));
      await redis().hdel(keys.queued, id);
      await change(
        connections.mysql(),
        'INSERT INTO orders (id, voucher_id, user_id, request_id, status, reason) VALUES (?, ?, ?, ?, ?, ?)',
        [id, voucherId, userId, requestId, 'failed', 'undeliverable'],
      );
    },
    finds: ['buyer-of-failed-order', 'stock'],
  },
  'a recorded order whose state is still queued': {
    how: ([order]) => redis().hset(keys.queued, order?.id ?? '', `${voucher.id}:1`),
    finds: ['note-without-order'],
  },
  'a queued order that nobody can look up': {
    how: (_, [order]) => redis().hdel(keys.queued, order?.id ?? ''),
    finds: ['order-without-note'],
  },
};

describe.each(Object.entries(damages))('%s', (_, { how, finds }) => {
  test('is found and repaired, and then exactly the stock is sold, once to each user', async () => {
    const recorded = await buyAs(connections, voucher, usersUpTo(3));
    await workUntilEmpty(connections);
    const queued = await buyAs(connections, voucher, usersUpTo(2, 4));
    await how(recorded, queued);

    const found = await reconcile(connections);
    expect(found.verdict).toBe('inconsistent');
    expect(kindsOf(found.vouchers.flatMap(({ differences }) => differences))).toEqual(finds);
    const first = await repair(connections);
    expect(first.after).toMatchObject({ verdict: 'consistent' });
    expect(first.repaired.length).toBeGreaterThan(0);
    expect(await repair(connections)).toMatchObject({ repaired: [] });

    // The stock of a voucher may be closed for a moment after a repair: see reopensMs.
    await redis().hdel(keys.voucher(voucher.id), 'reopensMs');
    await buyAs(connections, voucher, usersUpTo(3 * stock));
    await workUntilEmpty(connections);
    const { confirmed, users } = await inMysql(voucher, connections);
    expect([confirmed.length, users]).toEqual([stock, stock]);
    for (const { id } of recorded) expect(confirmed.map((order) => order.id)).toContain(id);
    expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
  });
});

test('an order that was lost is recorded under its own id, and its user is told so', async () => {
  const [order] = await buyAs(connections, voucher, [7]);
  await redis().del(keys.orders, keys.queued);
  expect(await findOrder(connections, order?.id ?? '')).toBeNull();
  await repair(connections);
  expect(await findOrder(connections, order?.id ?? '')).toMatchObject({ status: 'queued' });
  await workUntilEmpty(connections);
  expect(await findOrder(connections, order?.id ?? '')).toMatchObject({ status: 'confirmed' });
});

/** One after the other buys, from this user on, while the work goes on. @returns their orders. */
async function buyMeanwhile(
  from: number,
  work: (sold: readonly Order[]) => Promise<unknown>,
): Promise<Order[]> {
  const buyer = await openProcess(stores);
  const accepted: Order[] = [];
  let isOver = false;
  const working = work(accepted).finally(() => {
    isOver = true;
  });
  for (let user = from; !isOver; user++) accepted.push(...(await buyAs(buyer, voucher, [user])));
  await working;
  return accepted;
}

test('two repairs at the same time are as one, also while many buy', async () => {
  const initialStock = 20_000; // More than can be sold meanwhile.
  voucher = await onSale(connections, initialStock);
  const recorded = await buyAs(connections, voucher, usersUpTo(3));
  await workUntilEmpty(connections);
  await redis().hdel(keys.buyers(voucher.id), '1', '2');
  await addStock(4);
  const others = [await openProcess(stores), await openProcess(stores)];
  const stop = startWorker(await openProcess(stores));
  const sold = await buyMeanwhile(4, async (soldYet) => {
    const found = await Promise.all(others.map((other) => compare(other, voucher.id)));
    const count = soldYet.length;
    await waitUntil('another sale', 10_000, () => soldYet.length > count);
    // Each of the two has seen the whole damage, and neither that the other one repairs it.
    const repairs = found.map(({ reconciliation: { vouchers }, epoch }, index) =>
      repairVoucher(others[index] as Connections, vouchers[0] as ReconciledVoucher, epoch),
    );
    const counts = (await Promise.all(repairs)).map(({ length }) => length);
    expect(counts.sort()).toEqual([2, 3]); // Both add the buyers; the stock is corrected once.
    const { after, repaired } = await repair(connections, voucher.id);
    expect([after.verdict, repaired]).toEqual(['consistent', []]);
  });
  await stop();
  await workUntilEmpty(connections);
  expect(sold.length).toBeGreaterThan(0);
  const { confirmed, failed } = await inMysql(voucher, connections);
  const idsOf = (orders: readonly { readonly id: string }[]) => orders.map(({ id }) => id).sort();
  expect([idsOf(confirmed), failed]).toEqual([idsOf([...recorded, ...sold]), []]);
  const { verdict, vouchers } = await reconcile(connections, voucher.id);
  expect([verdict, vouchers[0]?.stock]).toEqual(['consistent', initialStock - confirmed.length]);
});

test('an order that MySQL has for another user is told so, also when it is read in parts', async () => {
  await buyAs(connections, voucher, usersUpTo(6));
  await workUntilEmpty(connections);
  const moved = 'UPDATE orders SET user_id = 1001 WHERE voucher_id = ? AND user_id = 4';
  expect(await change(connections.mysql(), moved, [voucher.id])).toBe(1);
  const kinds = async (most: number) => {
    const whole = (sale: Sale, parts: readonly Difference[][]) => differencesOf(sale, parts.flat());
    const reader = { part: orderDifferences, whole };
    const { sales } = await readSales(connections, reader, voucher.id, most);
    return sales.flat().map(({ kind }) => kind);
  };
  for (const most of [100, 2]) expect(await kinds(most)).toEqual(['order-of-another-user']);
  const { after, repaired } = await repair(connections);
  expect([after.verdict, repaired]).toEqual(['inconsistent', []]);
});

test('a sale that Redis does not have is found, and a repair leaves it alone', async () => {
  await buyAs(connections, voucher, usersUpTo(2));
  await redis().del(keys.voucher(voucher.id));
  const { after, repaired } = await repair(connections, voucher.id);
  expect(after).toMatchObject({ verdict: 'inconsistent', vouchers: [{ stock: null }] });
  expect(kindsOf(after.vouchers[0]?.differences ?? [])).toEqual(['sale-missing']);
  expect(repaired).toEqual([]);
  expect(await redis().exists(keys.voucher(voucher.id))).toBe(0);
});

test('a stock is not raised while two orders have one buyer: rather too few are sold', async () => {
  await buyAs(connections, voucher, usersUpTo(3));
  await workUntilEmpty(connections);
  const { id, voucherId, userId, requestId } = someOrder(voucher.id, '1');
  const insert = 'INSERT INTO orders (id, voucher_id, user_id, request_id) VALUES (?, ?, ?, ?)';
  await change(connections.mysql(), insert, [id, voucherId, userId, requestId]);
  const take = 'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?';
  await change(connections.mysql(), take, [voucherId]);
  await addStock(-3); // One for the second order, and two too many.
  const { after } = await repair(connections);
  expect(after.verdict).toBe('inconsistent');
  expect(kindsOf(after.vouchers[0]?.differences ?? [])).toEqual([
    'buyer-of-another-order',
    'stock',
  ]);
  expect(await redis().hget(keys.voucher(voucher.id), 'stock')).toBe('2');
});

test('a stock of MySQL that is wrong is found, and left to a person', async () => {
  await change(
    connections.mysql(),
    'UPDATE seckill_stock SET stock = stock + 1 WHERE voucher_id = ?',
    [voucher.id],
  );
  const { after, repaired } = await repair(connections, voucher.id);
  expect(kindsOf(after.vouchers[0]?.differences ?? [])).toEqual(['stock-of-mysql']);
  expect(repaired).toEqual([]);
});
