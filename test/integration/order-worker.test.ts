/** Recording orders: once, whatever is delivered again, and a dead letter gives everything back. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { fullDatabase } from '../../src/lab/faults/database.ts';
import { change } from '../../src/service/connections/mysql.ts';
import { orderGroup } from '../../src/service/connections/sale-keys.ts';
import type { Order } from '../../src/service/domain.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { recordBatch, recordOne } from '../../src/service/orders/record-orders.ts';
import { workOrders } from '../../src/service/orders/work-orders.ts';
import { valueOfSeries } from '../support/basics.ts';
import { tokenFor } from '../support/client.ts';
import { quiet } from '../support/connections.ts';
import { openInstance } from '../support/instance.ts';
import { theLab } from '../support/own-lab.ts';
import { type OwnSale, quietSale } from '../support/own-sale.ts';
import { isRunning, lockRow, setGlobal } from '../support/own-stores.ts';
import { openStreamQueue, someVoucherId, startWorker, usersUpTo } from '../support/sale.ts';

const lab = theLab(null);
let sale: OwnSale;

beforeEach(async () => {
  sale = await quietSale({ stock: 3 });
});

const stockInMysql = async () => (await sale.inMysql())?.stock;
const stocks = async () => [await stockInMysql(), await sale.stockInRedis()];
const stockOfMysql = (stock: number) =>
  change(sale.pool, 'UPDATE seckill_stock SET stock = ? WHERE voucher_id = ?', [stock, sale.id]);

describe('recording', () => {
  const other = (order: Order): Order => ({ ...order, userId: '2' });

  test('a batch is one transaction: all of it or nothing', async () => {
    const orders = ['1', '2'].map((userId) => sale.order(userId));
    await recordBatch(sale.records, orders);
    expect(await stockInMysql()).toBe(1);
    const tooMany = ['3', '4'].map((userId) => sale.order(userId));
    await expect(recordBatch(sale.records, tooMany)).rejects.toThrow();
    expect(await stockInMysql()).toBe(1);
  });

  test.each<[string, (first: Order) => Order, string]>([
    ['it again is a success', (first) => first, 'recorded'],
    ['another order of its user is none', () => sale.order(1), 'user-has-another-order'],
    ['its id with another user is none', other, 'id-belongs-to-another-order'],
  ])('after an order, %s, and takes no stock', async (_, second, answer) => {
    const order = sale.order(1);
    expect(await recordOne(sale.records, order)).toBe('recorded');
    expect(await recordOne(sale.records, second(order))).toBe(answer);
    expect(await stockInMysql()).toBe(2);
  });
});

describe('an order', () => {
  test('that MySQL has no stock for fails, for good: its buyer is free again, and no stock is made up', async () => {
    await stockOfMysql(0);
    const order = await sale.bought(1);
    expect(await sale.stockInRedis()).toBe(2);
    await sale.record();
    expect(await sale.find(order)).toMatchObject({ status: 'failed', reason: 'stock-short' });
    expect(await sale.stockInRedis()).toBe(2);
    expect(await sale.buyer(1)).toBeNull();
    await stockOfMysql(3);
    await openStreamQueue(sale.connections).publish(order); // It is delivered once more.
    await sale.record();
    expect(await sale.find(order)).toMatchObject({ status: 'failed' });
    expect(await stocks()).toEqual([3, 2]);
  });

  test('of a user who has another one fails, and the other one is what the user has bought, with its unit', async () => {
    const other = sale.order(1);
    await recordOne(sale.records, other);
    const order = await sale.bought(1);
    await sale.record();
    const failed = { status: 'failed', reason: 'user-has-another-order' };
    expect(await sale.find(order)).toMatchObject(failed);
    expect(await sale.stockInRedis()).toBe(2);
    expect(await reconcile(sale.connections, sale.id)).toMatchObject({ verdict: 'consistent' });
    expect(await sale.buyer(1)).toBe(`${other.id}:${other.requestId}`);
  });
});

const malformed = async () =>
  (await valueOfSeries('lockstep_orders_settled_total{result="malformed"}')) ?? 0;

describe('a poison entry', () => {
  /** The entry of an accepted order, with one field changed; the buyer and the note stay. */
  async function poison(order: Order, field: string, text: string | undefined): Promise<void> {
    const entries = await sale.redis.xrange(sale.keys.orders, '-', '+');
    const found = entries.find(([, fields]) => fields[1] === order.id);
    const [entryId = '', fields = []] = found ?? [];
    const pairs = Array.from({ length: fields.length / 2 }, (_, index) =>
      fields.slice(2 * index, 2 * index + 2),
    );
    const changed = pairs.flatMap(([name = '', value = '']) => {
      if (name !== field) return [name, value];
      return text === undefined ? [] : [name, text];
    });
    await sale.redis.xdel(sale.keys.orders, entryId);
    await sale.redis.xadd(sale.keys.orders, '*', ...changed);
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

  /** The second of three orders; the others are recorded. @returns it, and its letter. */
  async function poisonOneOf3(field: string, text: string | undefined) {
    const [before, bad, after] = [await sale.bought(1), await sale.bought(2), await sale.bought(3)];
    await poison(bad, field, text);
    await sale.record();
    await sale.expectConfirmed(before, after);
    const letters = await sale.letters();
    expect(letters).toHaveLength(1);
    return { bad, letter: letters[0]?.slice(0, 4) };
  }

  test.each(wrong)(
    'with %s=%j is dead-lettered, its stock comes back, and its neighbours are recorded',
    async (field, text, cause) => {
      const counted = await malformed();
      const { bad, letter } = await poisonOneOf3(field, text);
      expect(letter).toEqual(['reason', 'malformed', 'cause', cause]);
      const failed = { status: 'failed', reason: 'malformed' };
      expect(await sale.find(bad)).toMatchObject({ ...failed, voucherId: sale.id, userId: '2' });
      expect(await stocks()).toEqual([1, 1]);
      expect(await sale.buyer(2)).toBeNull();
      expect(await malformed()).toBe(counted + 1);
    },
  );

  test.each([
    [undefined, 'orderId is missing'],
    ['seven', 'orderId is not an id'],
    [huge, 'orderId is not an id'],
  ])(
    'with orderId=%j is dead-lettered, and no stock is made up: nothing shows whose it was',
    async (text, cause) => {
      const { letter } = await poisonOneOf3('orderId', text);
      expect(letter).toEqual(['reason', 'malformed', 'cause', cause]);
      expect(await sale.stockInRedis()).toBe(0);
    },
  );

  test('that nobody bought stays while the dead letters cannot take it', async () => {
    await sale.redis.set(sale.keys.dead, 'damaged');
    await sale.redis.xadd(sale.keys.orders, '*', 'orderId', '5', 'nonsense', '1');
    const stop = startWorker(sale.connections);
    const isGone = async () => (await sale.redis.xlen(sale.keys.orders)) === 0;
    await waitUntil('a second delivery', 20_000, async () => {
      return (await deliveries()) >= 2 || isGone();
    }).finally(() => sale.redis.del(sale.keys.dead));
    await waitUntil('the end of the entry', 20_000, isGone).finally(stop);
    const why = ['reason', 'malformed', 'cause', 'voucherId is missing'];
    const known = [...why, 'deliveries', expect.any(String), 'noted', ''];
    expect(await sale.letters()).toEqual([[...known, 'orderId', '5', 'nonsense', '1']]);
  });

  test('stays while MySQL has no space for its failed row, and the worker says why it waits', async () => {
    const bad = await sale.bought(1);
    await poison(bad, 'requestId', undefined);
    const undo = await fullDatabase(lab().database).inject(lab());
    onTestFinished(undo);
    const stop = new AbortController();
    let isFull = false;
    const onFull = () => {
      isFull = true;
    };
    const queue = openStreamQueue(sale.connections);
    const working = workOrders(sale.connections, queue, quiet, stop.signal, { onFull });
    await waitUntil('the refusal', 20_000, () => isFull);
    expect(await sale.find(bad)).toMatchObject({ status: 'queued' });
    await undo();
    const isFailed = async () => (await sale.find(bad))?.status === 'failed';
    await waitUntil('the failed row', 20_000, isFailed);
    stop.abort();
    await working;
  });

  test('of a user id that MySQL cannot store was sold: it is dead-lettered, and its stock comes back', async () => {
    const bad = await sale.bought(huge);
    const good = await sale.bought(2);
    await sale.record();
    await sale.expectConfirmed(good);
    expect(await sale.find(bad)).toMatchObject({ status: 'failed', userId: '0' });
    expect(await stocks()).toEqual([2, 2]);
    expect(await sale.redis.hlen(sale.keys.buyers(sale.id))).toBe(1);
  });

  test('with the id of a recorded order takes nothing from that order', async () => {
    const order = await sale.bought(1);
    await sale.record();
    await sale.redis.hset(sale.keys.queued, order.id, `${sale.id}:1`);
    await sale.redis.xadd(sale.keys.orders, '*', 'orderId', order.id);
    await sale.record();
    await sale.expectConfirmed(order);
    expect(await stocks()).toEqual([2, 2]);
    expect(await sale.buyer(1)).not.toBeNull();
  });

  test('in form an order, but refused by MySQL for good, is dead-lettered although MySQL refuses its tombstone too', async () => {
    const banned = someVoucherId();
    await sale.ban('user_id', banned);
    const [before, bad, after] = [
      await sale.bought(1),
      await sale.bought(banned),
      await sale.bought(3),
    ];
    await sale.record();
    await sale.expectConfirmed(before, after);
    // Not even its user: docs/design.md says what the user sees.
    const failed = { status: 'failed', reason: 'undeliverable', userId: '0' };
    expect(await sale.find(bad)).toMatchObject(failed);
    expect(await stocks()).toEqual([1, 1]);
  });

  const bannedRequest = 'a-request-that-MySQL-refuses';

  test.each<[column: string, banned: () => string, kept: () => string]>([
    ['request_id', () => bannedRequest, () => sale.id],
    ['voucher_id', () => sale.id, () => '0'],
  ])(
    'whose %s is refused by MySQL for good has failed for its user',
    async (column, banned, kept) => {
      await sale.ban(column, banned());
      const bad = await sale.bought(2, bannedRequest);
      await sale.record();
      const { app } = await openInstance(sale.connections);
      const as = async (user: string) => {
        const headers = { authorization: `Bearer ${await tokenFor(user)}` };
        return app.request(`/orders/${bad.id}`, { headers });
      };
      const own = await as('2');
      const shown = { id: bad.id, voucherId: kept(), status: 'failed', reason: 'undeliverable' };
      expect([own.status, await own.json()]).toEqual([200, shown]);
      expect((await as('3')).status).toBe(404);
      expect(await stocks()).toEqual([3, 3]);
    },
  );

  test('is dead-lettered after five refusals, however many workers were refused', async () => {
    const refused = someVoucherId();
    await sale.ban('user_id', refused);
    const order = await sale.bought(refused);
    const claiming = { CLAIM_IDLE_MS: '600' };
    for (const soFar of [1, 2, 3]) {
      const leave = await worker(claiming);
      await waitUntil('a refusal', 20_000, async () => (await deliveries()) >= soFar);
      await leave();
    }
    const stops = [await worker(claiming), await worker(claiming)];
    const isSettled = async () => (await openStreamQueue(sale.connections).depth()) === 0;
    await waitUntil('the letter', 20_000, isSettled);
    await Promise.all(stops.map((stop) => stop()));
    const known = ['reason', 'undeliverable', 'deliveries', '5', 'orderId', order.id];
    expect((await sale.letters()).map((fields) => fields.slice(0, 6))).toEqual([known]);
    expect(await refusalsOf(order)).toBeNull();
  });

  test('leaves no count behind when its deliveries are counted from one again', async () => {
    const order = await sale.bought(1);
    // MySQL refused it before the group was lost.
    await sale.redis.hset(sale.keys.refusals, order.id, '2');
    await sale.record();
    await sale.expectConfirmed(order);
    expect(await refusalsOf(order)).toBeNull();
  });

  test('costs its neighbours a few transactions, and not one for each of them', async () => {
    sale = await sale.another({ stock: 64 });
    const refused = someVoucherId();
    await sale.ban('user_id', refused);
    const users = [...usersUpTo(40), Number(refused), ...usersUpTo(23, 41)];
    const { length } = await sale.buyAs(users);
    const transactions = vi.spyOn(sale.pool, 'getConnection');
    const stop = startWorker(sale.connections);
    const recorded = async () => (await sale.recorded()).confirmed.length;
    await waitUntil('the neighbours', 20_000, async () => (await recorded()) === length - 1);
    expect(transactions.mock.calls.length).toBeLessThan(30); // The halves of 64: 13 transactions.
    await stop();
  });

  test('that was delivered often while MySQL was away is not dead-lettered at its first refusal', async () => {
    const user = someVoucherId();
    const lift = await sale.ban('user_id', user);
    const order = await sale.bought(user);
    const nowhere = 'mysql://a:b@127.0.0.1:1/shop';
    const leave = await worker({ MYSQL_URL: nowhere, CLAIM_IDLE_MS: '100' });
    await waitUntil('six deliveries', 20_000, async () => (await deliveries()) >= 6);
    await leave();
    const before = await deliveries();
    const stop = await worker({ CLAIM_IDLE_MS: '2000' });
    await waitUntil('a refusal', 20_000, async () => (await deliveries()) > before);
    await lift();
    await waitUntil('the end', 20_000, async () => (await deliveries()) === 0).finally(stop);
    await sale.expectConfirmed(order);
    expect(await refusalsOf(order)).toBeNull();
  });
});

/** How often the first order that is pending was delivered; 0 without one. */
async function deliveries(): Promise<number> {
  const range = [orderGroup, '-', '+', 1] as const;
  const [pending] = (await sale.redis.xpending(sale.keys.orders, ...range)) as unknown[][];
  return Number(pending?.[3] ?? 0);
}

const refusalsOf = ({ id }: Order) => sale.redis.hget(sale.keys.refusals, id);

/** A worker with other settings, on connections of its own. @returns what ends it. */
async function worker(changes: Readonly<Record<string, string>>): Promise<() => Promise<void>> {
  const stop = startWorker(await sale.otherProcess(changes));
  onTestFinished(stop);
  return stop;
}

describe('a batch', () => {
  test('that is delivered again is looked up, and not recorded one by one', async () => {
    sale = await sale.another({ stock: 400 });
    const orders = await Promise.all(usersUpTo(300).map((user) => sale.bought(user)));
    await recordBatch(sale.records, orders.slice(0, 250)); // And then its worker died.
    let acquired = 0;
    sale.pool.on('acquire', () => {
      acquired += 1;
    });
    await sale.record();
    expect(acquired).toBeLessThan(15);
    expect(await sale.redis.hlen(sale.keys.queued)).toBe(0);
    expect((await sale.recorded()).confirmed).toHaveLength(300);
    expect(await stockInMysql()).toBe(100);
  });

  test('that hangs does not stop the worker: others are recorded meanwhile, and it is recorded once', async () => {
    const other = await sale.another({ stock: 3 });
    // Else MySQL itself ends the wait for the row.
    await setGlobal('innodb_lock_wait_timeout', 120, 5);
    await worker({ CLAIM_IDLE_MS: '100', BATCH_LIMIT_MS: '300' });
    const letGo = await lockRow(sale.pool, `seckill_stock WHERE voucher_id = ${sale.id}`);
    const hanging = await sale.bought(1);
    const isInHand = () => isRunning(sale.pool, 'UPDATE seckill_stock SET stock = stock -');
    await waitUntil('the batch to be in hand', 20_000, isInHand);
    const order = await other.bought(1);
    const isConfirmed = async (of: Order) => (await sale.find(of))?.status === 'confirmed';
    await waitUntil('the other order to be recorded', 20_000, () => isConfirmed(order));
    const queued = { userId: '1', voucherId: sale.id, status: 'queued' };
    expect(await sale.find(hanging)).toEqual({ id: hanging.id, ...queued });
    await letGo();
    await waitUntil('the batch to be recorded', 20_000, () => isConfirmed(hanging));
    expect(await stockInMysql()).toBe(2);
  });
});
