/** Recording orders: once, whatever is delivered again, and a dead letter gives everything back. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { change, select } from '../../src/connections/mysql.ts';
import { orderGroup, type ShardKeys } from '../../src/connections/sale-keys.ts';
import type { Order, Voucher } from '../../src/domain.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { fullDatabase } from '../../src/lab/faults/database/full-database.ts';
import { registry } from '../../src/metrics/registry.ts';
import { findOrder } from '../../src/orders/find-order.ts';
import { workOrders } from '../../src/orders/order-worker.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import { type Records, recordBatch, recordOne } from '../../src/orders/record-orders.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { tokenFor } from '../support/client.ts';
import { openConnections, quiet, quietRedis, testConnections } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { openStreamQueue, someOrder, someVoucherId } from '../support/sale.ts';
import {
  buyAs,
  buyOrder,
  inMysql,
  onSale,
  startWorker,
  usersUpTo,
  workUntilEmpty,
} from '../support/selling.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab(null);
let connections: Connections;
let voucher: Voucher;
let keys: ShardKeys;
let records: Records;

beforeEach(async () => {
  connections = openConnections({
    REDIS_URL: quietRedis(),
    CLAIM_IDLE_MS: '100',
    BATCH_GATHER_MS: '0',
  });
  connections.redis('admin');
  connections.redis('purchase');
  await connections.ready();
  voucher = await onSale(connections, 3);
  keys = connections.saleKeys.of(voucher.id);
  records = { pool: connections.mysql(), vouchers: openVouchers(connections) };
  await connections.redis('admin').del(keys.orders, keys.queued);
});
afterEach(() => connections.close());

const stock = async () => {
  const [row] = await select<{ stock: number }>(
    connections.mysql(),
    'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
    [voucher.id],
  );
  return row?.stock;
};
const redisStock = () => connections.redis('admin').hget(keys.voucher(voucher.id), 'stock');

async function buy(userId: string, requestId?: string): Promise<Order> {
  const order = someOrder(voucher.id, userId, requestId);
  const outcome = await buyOrder(connections, voucher, order);
  expect(outcome.kind).toBe('accepted');
  return order;
}

describe('recording', () => {
  test('a batch is one transaction: all of it or nothing', async () => {
    const orders = ['1', '2'].map((userId) => someOrder(voucher.id, userId));
    await recordBatch(records, orders);
    expect(await stock()).toBe(1);
    const tooMany = ['3', '4'].map((userId) => someOrder(voucher.id, userId));
    await expect(recordBatch(records, tooMany)).rejects.toThrow();
    expect(await stock()).toBe(1);
  });

  test('an order that is delivered again is a success, and takes no stock', async () => {
    const order = someOrder(voucher.id, '1');
    expect(await recordOne(records, order)).toBe('recorded');
    expect(await recordOne(records, order)).toBe('recorded');
    expect(await stock()).toBe(2);
  });

  test('a batch with one delivered again still records the others', async () => {
    const [first, second] = [await buy('1'), await buy('2')];
    await recordOne(records, first);
    await workUntilEmpty(connections);
    expect(await stock()).toBe(1);
    expect(await findOrder(connections, second.id)).toMatchObject({ status: 'confirmed' });
  });

  test('another order of the same user is not a success', async () => {
    await recordOne(records, someOrder(voucher.id, '1'));
    expect(await recordOne(records, someOrder(voucher.id, '1'))).toBe('user-has-another-order');
  });
});

describe('an order', () => {
  test('is queued from the moment it is accepted, then confirmed', async () => {
    const order = await buy('1');
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'queued',
      userId: '1',
      voucherId: voucher.id,
    });
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'confirmed',
      userId: '1',
    });
  });

  test('that MySQL has no stock for fails with its reason; its buyer is free again, and no stock is made up', async () => {
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    const order = await buy('1');
    expect(await redisStock()).toBe('2');
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'failed',
      reason: 'stock-short',
    });
    expect(await redisStock()).toBe('2');
    expect(await connections.redis('admin').hexists(keys.buyers(voucher.id), '1')).toBe(0);
  });

  test('of a user who has another one fails, and the other one is what the user has bought, with its unit', async () => {
    const other = someOrder(voucher.id, '1');
    await recordOne(records, other);
    const order = await buy('1');
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({
      status: 'failed',
      reason: 'user-has-another-order',
    });
    expect(await redisStock()).toBe('2');
    expect(await reconcile(connections, voucher.id)).toMatchObject({ verdict: 'consistent' });
    const bought = await connections.redis('admin').hget(keys.buyers(voucher.id), '1');
    expect(bought).toBe(`${other.id}:${other.requestId}`);
  });

  test('whose id belongs to another is not taken for a redelivery', async () => {
    const order = someOrder(voucher.id, '1');
    await recordOne(records, order);
    const impostor = { ...order, userId: '2' };
    expect(await recordOne(records, impostor)).toBe('id-belongs-to-another-order');
  });

  test('that is no order is moved to the dead, and does not block the others', async () => {
    const redis = connections.redis('admin');
    await redis.del(keys.dead);
    await redis.xadd(keys.orders, '*', 'orderId', '5', 'nonsense', '1');
    const order = await buy('1');
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    const [entry] = await redis.xrange(keys.dead, '-', '+');
    const whole = ['orderId', '5', 'nonsense', '1'];
    const known = ['reason', 'malformed', 'cause', 'voucherId is missing', 'deliveries', '1'];
    expect(entry?.[1]).toEqual([...known, 'noted', '', ...whole]);
  });

  test('that failed stays failed when it is delivered once more', async () => {
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    const order = await buy('1');
    await workUntilEmpty(connections);
    await change(connections.mysql(), 'UPDATE seckill_stock SET stock = 3 WHERE voucher_id = ?', [
      voucher.id,
    ]);
    await openStreamQueue(connections).publish(order);
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'failed' });
    expect([await stock(), await redisStock()]).toEqual([3, '2']);
  });
});

async function malformed(): Promise<number> {
  const series = 'lockstep_orders_settled_total{result="malformed"}';
  const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(series));
  return Number(line?.split(' ').at(-1) ?? 0);
}

describe('a poison entry', () => {
  /** The entry of an accepted order, with one field changed; the buyer and the note stay. */
  async function poison(order: Order, field: string, text: string | undefined): Promise<void> {
    const redis = connections.redis('admin');
    const entries = await redis.xrange(keys.orders, '-', '+');
    const found = entries.find(([, fields]) => fields[1] === order.id);
    const [entryId = '', fields = []] = found ?? [];
    const pairs = Array.from({ length: fields.length / 2 }, (_, index) =>
      fields.slice(2 * index, 2 * index + 2),
    );
    const changed = pairs.flatMap(([name = '', value = '']) => {
      if (name !== field) return [name, value];
      return text === undefined ? [] : [name, text];
    });
    await redis.xdel(keys.orders, entryId);
    await redis.xadd(keys.orders, '*', ...changed);
  }

  const huge = '9'.repeat(25);
  const wrong = [
    ['voucherId', undefined, 'voucherId is missing'],
    ['voucherId', 'seven', 'voucherId is not an id'],
    ['voucherId', huge, 'voucherId is not an id'],
    ['userId', undefined, 'userId is missing'],
    ['userId', '', 'userId is not an id'],
    ['userId', '-7', 'userId is not an id'],
    ['userId', '007', 'userId is not an id'],
    ['userId', huge, 'userId is not an id'],
    ['requestId', undefined, 'requestId is missing'],
    ['requestId', 'x'.repeat(65), 'requestId is not 1 to 64 visible ASCII characters'],
    ['requestId', '优惠券', 'requestId is not 1 to 64 visible ASCII characters'],
  ] as const;

  test.each(wrong)(
    'with %s=%j is dead-lettered, its stock comes back, and its neighbours are recorded',
    async (field, text, cause) => {
      const redis = connections.redis('admin');
      await redis.del(keys.dead);
      const counted = await malformed();
      const [before, bad, after] = [await buy('1'), await buy('2'), await buy('3')];
      await poison(bad, field, text);
      await workUntilEmpty(connections);
      for (const { id } of [before, after])
        expect(await findOrder(connections, id)).toMatchObject({ status: 'confirmed' });
      expect(await findOrder(connections, bad.id)).toMatchObject({
        ...{ status: 'failed', reason: 'malformed', voucherId: voucher.id, userId: '2' },
      });
      expect([await stock(), await redisStock()]).toEqual([1, '1']);
      expect(await redis.hexists(keys.buyers(voucher.id), '2')).toBe(0);
      expect(await malformed()).toBe(counted + 1);
      const letters = await redis.xrange(keys.dead, '-', '+');
      expect(letters).toHaveLength(1);
      expect(letters[0]?.[1].slice(0, 4)).toEqual(['reason', 'malformed', 'cause', cause]);
    },
  );

  test.each([
    ['orderId', undefined, 'orderId is missing'],
    ['orderId', 'seven', 'orderId is not an id'],
    ['orderId', huge, 'orderId is not an id'],
  ])(
    'with %s=%j is dead-lettered, and no stock is made up: nothing shows whose it was',
    async (field, text, cause) => {
      const redis = connections.redis('admin');
      await redis.del(keys.dead);
      const [before, bad, after] = [await buy('1'), await buy('2'), await buy('3')];
      await poison(bad, field, text);
      await workUntilEmpty(connections);
      for (const { id } of [before, after])
        expect(await findOrder(connections, id)).toMatchObject({ status: 'confirmed' });
      expect(await redisStock()).toBe('0');
      const [letter] = await redis.xrange(keys.dead, '-', '+');
      expect(letter?.[1].slice(0, 4)).toEqual(['reason', 'malformed', 'cause', cause]);
    },
  );

  test('that nobody bought stays while the dead letters cannot take it', async () => {
    const redis = connections.redis('admin');
    await redis.del(keys.dead);
    await redis.set(keys.dead, 'damaged');
    await redis.xadd(keys.orders, '*', 'orderId', '5', 'nonsense', '1');
    const stop = startWorker(connections);
    const isGone = async () => (await redis.xlen(keys.orders)) === 0;
    await waitUntil('a second delivery', 15_000, async () => {
      const [pending] = await redis.xpending(keys.orders, orderGroup, '-', '+', 1);
      const [, , , deliveries = 0] = (pending ?? []) as readonly number[];
      return deliveries >= 2 || isGone();
    }).finally(() => redis.del(keys.dead));
    await waitUntil('the end of the entry', 15_000, isGone).finally(stop);
    expect(await redis.xlen(keys.dead)).toBe(1);
  });

  test('stays while MySQL has no space for its failed row, and the worker says why it waits', async () => {
    const bad = await buy('1');
    await poison(bad, 'requestId', undefined);
    const undo = await fullDatabase(lab().database).inject(lab());
    onTestFinished(undo);
    const stop = new AbortController();
    let isFull = false;
    const onFull = () => {
      isFull = true;
    };
    const queue = openStreamQueue(connections);
    const working = workOrders(connections, queue, quiet, stop.signal, { onFull });
    await waitUntil('the refusal', 10_000, () => isFull);
    expect(await findOrder(connections, bad.id)).toMatchObject({ status: 'queued' });
    await undo();
    const isFailed = async () => (await findOrder(connections, bad.id))?.status === 'failed';
    await waitUntil('the failed row', 10_000, isFailed);
    stop.abort();
    await working;
  });

  test('of a user id that MySQL cannot store was sold: it is dead-lettered, and its stock comes back', async () => {
    const bad = await buy(huge);
    const good = await buy('2');
    await workUntilEmpty(connections);
    expect(await findOrder(connections, good.id)).toMatchObject({ status: 'confirmed' });
    expect(await findOrder(connections, bad.id)).toMatchObject({ status: 'failed', userId: '0' });
    expect([await stock(), await redisStock()]).toEqual([2, '2']);
    expect(await connections.redis('admin').hlen(keys.buyers(voucher.id))).toBe(1);
  });

  test('with the id of a recorded order takes nothing from that order', async () => {
    const order = await buy('1');
    await workUntilEmpty(connections);
    const redis = connections.redis('admin');
    await redis.hset(keys.queued, order.id, `${voucher.id}:1`);
    await redis.xadd(keys.orders, '*', 'orderId', order.id);
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    expect([await stock(), await redisStock()]).toEqual([2, '2']);
    expect(await redis.hexists(keys.buyers(voucher.id), '1')).toBe(1);
  });

  test('in form an order, but refused by MySQL for good, is dead-lettered although MySQL refuses its tombstone too', async () => {
    const banned = someVoucherId();
    await ban('user_id', banned);
    const [before, bad, after] = [await buy('1'), await buy(banned), await buy('3')];
    await workUntilEmpty(connections);
    for (const { id } of [before, after])
      expect(await findOrder(connections, id)).toMatchObject({ status: 'confirmed' });
    // Not even its user: docs/pipeline.md says what the user sees.
    expect(await findOrder(connections, bad.id)).toMatchObject({
      ...{ status: 'failed', reason: 'undeliverable', userId: '0' },
    });
    expect([await stock(), await redisStock()]).toEqual([1, '1']);
  });

  test.each<[column: string, banned: () => string, kept: () => string]>([
    ['request_id', () => bannedRequest, () => voucher.id],
    ['voucher_id', () => voucher.id, () => '0'],
  ])(
    'whose %s is refused by MySQL for good has failed for its user',
    async (column, banned, kept) => {
      await ban(column, banned());
      const bad = await buy('2', bannedRequest);
      await workUntilEmpty(connections);
      const { app } = await openInstance(connections);
      const as = async (user: string) => {
        const headers = { authorization: `Bearer ${await tokenFor(user)}` };
        return app.request(`/orders/${bad.id}`, { headers });
      };
      const own = await as('2');
      expect([own.status, await own.json()]).toEqual([
        200,
        { id: bad.id, voucherId: kept(), status: 'failed', reason: 'undeliverable' },
      ]);
      expect((await as('3')).status).toBe(404);
      expect([await stock(), await redisStock()]).toEqual([3, '3']);
    },
  );

  test('is dead-lettered after five refusals, however many workers were refused', async () => {
    const redis = connections.redis('admin');
    await redis.del(keys.dead);
    const refused = someVoucherId();
    await ban('user_id', refused);
    const order = await buy(refused);
    const claiming = { CLAIM_IDLE_MS: '600' };
    for (const soFar of [1, 2, 3]) {
      const leave = await worker(claiming);
      await waitUntil('a refusal', 20_000, async () => (await deliveries()) >= soFar);
      await leave();
    }
    const stops = [await worker(claiming), await worker(claiming)];
    const isSettled = async () => (await openStreamQueue(connections).depth()) === 0;
    await waitUntil('the letter', 20_000, isSettled);
    await Promise.all(stops.map((stop) => stop()));
    const letters = await redis.xrange(keys.dead, '-', '+');
    const known = ['reason', 'undeliverable', 'deliveries', '5', 'orderId', order.id];
    expect(letters.map(([, fields]) => fields.slice(0, 6))).toEqual([known]);
    expect(await redis.hexists(keys.refusals, order.id)).toBe(0);
  });

  test('leaves no count behind when its deliveries are counted from one again', async () => {
    const redis = connections.redis('admin');
    const order = await buy('1');
    await redis.hset(keys.refusals, order.id, '2'); // MySQL refused it before the group was lost.
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    expect(await redis.hexists(keys.refusals, order.id)).toBe(0);
  });

  test('costs its neighbours a few transactions, and not one for each of them', async () => {
    const many = await onSale(connections, 64);
    const refused = someVoucherId();
    await ban('user_id', refused);
    const users = [...usersUpTo(40), Number(refused), ...usersUpTo(23, 41)];
    const orders = await buyAs(connections, many, users);
    const pool = connections.mysql();
    const transactions = vi.spyOn(pool, 'getConnection');
    const stop = startWorker(connections);
    const { length } = orders;
    const recorded = async () => (await inMysql(many, connections)).confirmed.length;
    await waitUntil('the neighbours', 15_000, async () => (await recorded()) === length - 1);
    expect(transactions.mock.calls.length).toBeLessThan(30); // The halves of 64: 13 transactions.
    await stop();
  });

  test('leaves no count behind when MySQL takes the order after it refused it', async () => {
    const refused = someVoucherId();
    const alter = 'ALTER TABLE orders';
    await connections.mysql().query(`${alter} ADD CONSTRAINT late CHECK (user_id <> ${refused})`);
    const order = await buy(refused);
    const leave = await worker({ CLAIM_IDLE_MS: '300' });
    await waitUntil('two refusals', 20_000, async () => (await deliveries()) >= 2);
    await leave();
    await openAndClose((later) => later.mysql().query(`${alter} DROP CONSTRAINT late`));
    const redis = connections.redis('admin');
    expect(Number(await redis.hget(keys.refusals, order.id))).toBeGreaterThanOrEqual(2);
    await workUntilEmpty(connections);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    expect(await redis.hexists(keys.refusals, order.id)).toBe(0);
  });

  test('that was delivered often while MySQL was away is not dead-lettered at its first refusal', async () => {
    const user = someVoucherId();
    const alter = 'ALTER TABLE orders';
    await connections.mysql().query(`${alter} ADD CONSTRAINT wrong CHECK (user_id <> ${user})`);
    const mend = () =>
      openAndClose((later) => later.mysql().query(`${alter} DROP CONSTRAINT wrong`));
    let isMended = false;
    onTestFinished(async () => {
      if (!isMended) await mend();
    });
    const order = await buy(user);
    const nowhere = 'mysql://a:b@127.0.0.1:1/shop';
    const leave = await worker({ MYSQL_URL: nowhere, CLAIM_IDLE_MS: '100' });
    await waitUntil('six deliveries', 20_000, async () => (await deliveries()) >= 6);
    await leave();
    const before = await deliveries();
    const stop = await worker({ CLAIM_IDLE_MS: '2000' });
    await waitUntil('a refusal', 20_000, async () => (await deliveries()) > before);
    await mend();
    isMended = true;
    await waitUntil('the end', 20_000, async () => (await deliveries()) === 0).finally(stop);
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
  });
});

const bannedRequest = 'a-request-that-MySQL-refuses';

/** MySQL refuses every row with this value, until the test is over. */
async function ban(column: string, value: string): Promise<void> {
  const alter = 'ALTER TABLE orders';
  const check = `CHECK (${column} <> '${value}')`;
  await connections.mysql().query(`${alter} ADD CONSTRAINT banned ${check}`);
  onTestFinished(() =>
    openAndClose((later) => later.mysql().query(`${alter} DROP CONSTRAINT banned`)),
  );
}

/** How often the first order that is pending was delivered; 0 without one. */
async function deliveries(): Promise<number> {
  const redis = connections.redis('admin');
  const pending = (await redis.xpending(keys.orders, orderGroup, '-', '+', 1)) as unknown[][];
  return Number(pending[0]?.[3] ?? 0);
}

/** A worker with other settings, on connections of its own. @returns what ends it. */
async function worker(changes: Readonly<Record<string, string>>): Promise<() => Promise<void>> {
  const own = testConnections({ REDIS_URL: quietRedis(), BATCH_GATHER_MS: '0', ...changes });
  own.redis('admin');
  await own.ready();
  const stop = startWorker(own);
  onTestFinished(stop);
  return stop;
}

async function openAndClose(work: (opened: Connections) => Promise<unknown>): Promise<void> {
  const opened = openConnections();
  await work(opened);
  await opened.close();
}

describe('a batch', () => {
  test('that is delivered again is looked up, and not recorded one by one', async () => {
    const many = await onSale(connections, 400);
    const own = connections.saleKeys.of(many.id);
    const orders = usersUpTo(300).map((user) => someOrder(many.id, String(user)));
    await Promise.all(orders.map((order) => buyOrder(connections, many, order)));
    await recordBatch(records, orders.slice(0, 250)); // And then its worker died.
    let acquired = 0;
    connections.mysql().on('acquire', () => {
      acquired += 1;
    });
    await workUntilEmpty(connections);
    expect(acquired).toBeLessThan(15);
    expect(await connections.redis('admin').hlen(own.queued)).toBe(0);
    const rows = await select<{ orders: string | number; stock: number }>(
      connections.mysql(),
      `SELECT COUNT(*) AS orders, MIN(s.stock) AS stock FROM orders o
       JOIN seckill_stock s ON s.voucher_id = o.voucher_id WHERE o.voucher_id = ?`,
      [many.id],
    );
    expect(rows.map((row) => [Number(row.orders), row.stock])).toEqual([[300, 100]]);
  });

  test('that hangs does not stop the worker: others are recorded meanwhile, and it is recorded once', async () => {
    const other = await onSale(connections, 3);
    await worker({ CLAIM_IDLE_MS: '100', BATCH_LIMIT_MS: '300' });
    const locker = await connections.mysql().getConnection();
    await locker.beginTransaction();
    const lock = 'SELECT 1 FROM seckill_stock WHERE voucher_id = ? FOR UPDATE';
    await locker.query(lock, [voucher.id]);
    const hanging = await buy('1');
    await waitUntil('the batch to be in hand', 5_000, async () => {
      const [sessions] = await connections.mysql().query('SHOW PROCESSLIST');
      return JSON.stringify(sessions).includes('UPDATE seckill_stock SET stock = stock -');
    });
    const order = someOrder(other.id, '1');
    await buyOrder(connections, other, order);
    // MySQL itself would end the wait for the row after five seconds.
    await waitUntil('the other order to be recorded', 3_000, async () => {
      return (await findOrder(connections, order.id))?.status === 'confirmed';
    });
    expect(await findOrder(connections, hanging.id)).toMatchObject({ status: 'queued' });
    await locker.rollback();
    locker.release();
    await waitUntil('the batch to be recorded', 20_000, async () => {
      return (await findOrder(connections, hanging.id))?.status === 'confirmed';
    });
    expect(await stock()).toBe(2);
  });
});
