/**
 * lua/purchase.lua and lua/give-back.lua on a real Redis: each answer, and what each leaves in
 * Redis.
 */
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { ShardKeys } from '../../src/service/connections/sale-keys.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import type { Order } from '../../src/service/domain.ts';
import { sellByScript } from '../../src/service/inventory/shared/purchase-script.ts';
import { ordersOfEntry } from '../../src/service/queues/shared/order-fields.ts';
import { callsOf, quietRedis, readyConnections } from '../support/connections.ts';
import { someOrder, someVoucherId } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';

const purchase = loadScript('sale/purchase');
const prepare = loadScript('sale/prepare-voucher');
const giveBack = loadScript('sale/give-back');
const hourMs = 3_600_000;

let redis: Redis;
let voucherId: string;
let keys: ShardKeys;

beforeEach(async () => {
  const connections = await readyConnections({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  voucherId = someVoucherId();
  keys = connections.saleKeys.of(voucherId);
});

const onSale = (stock: string, beginMs = Date.now() - hourMs, endMs = Date.now() + hourMs) =>
  runScript(
    redis,
    prepare,
    [keys.voucher(voucherId), keys.buyers(voucherId)],
    [stock, String(beginMs), String(endMs)],
  );

/** One call for all of them. @returns an answer for each; 1 is written out. */
async function buyTogether(bought: readonly Order[], knownEpoch = '') {
  const { orders, queued, epoch } = keys;
  const touched = [keys.voucher(voucherId), keys.buyers(voucherId), orders, queued, epoch];
  const each = bought.flatMap(({ id, userId, requestId }) => [id, userId, requestId]);
  const args = [knownEpoch, voucherId, ...each];
  const answers = (await runScript(redis, purchase, touched, args)) as unknown[];
  return answers.map((answer, index) => (answer === 1 ? ['accepted', bought[index]?.id] : answer));
}

async function buy(
  userId: string,
  requestId = 'request',
  order = someOrder(voucherId, userId, requestId),
) {
  const [answer] = await buyTogether([order]);
  return answer;
}

const stockLeft = () => redis.hget(keys.voucher(voucherId), 'stock');
const queuedOrders = async () =>
  Object.values(await redis.hgetall(keys.queued)).filter((value) =>
    value.startsWith(`${voucherId}:`),
  ).length;

describe('the script that prepares a voucher', () => {
  const [beginMs, endMs] = [Date.now() - hourMs, Date.now() + hourMs];

  test('refuses an id whose sale has begun, even with the same numbers', async () => {
    await onSale('1', beginMs, endMs);
    await buy('7');
    expect(await onSale('1', beginMs, endMs)).toBe('taken');
    await redis.hset(keys.voucher(voucherId), 'stock', '1');
    expect(await onSale('1', beginMs, endMs)).toBe('taken');
  });

  test('refuses an id that has another stock or other times, and keeps them', async () => {
    await onSale('100', beginMs, endMs);
    expect(await onSale('2', beginMs, endMs)).toBe('taken');
    expect(await onSale('100', beginMs + 1, endMs)).toBe('taken');
    expect(await onSale('100', beginMs, endMs + 1)).toBe('taken');
    expect(await redis.hgetall(keys.voucher(voucherId))).toEqual({
      stock: '100',
      beginMs: String(beginMs),
      endMs: String(endMs),
    });
  });
});

describe('the purchase script', () => {
  test('sells, takes one from stock, remembers the buyer and queues the order, all or nothing', async () => {
    await onSale('2');
    const order = someOrder(voucherId, '7', 'request');
    expect(await buy('7', 'request', order)).toEqual(['accepted', order.id]);
    expect(await stockLeft()).toBe('1');
    expect(await redis.hget(keys.buyers(voucherId), '7')).toBe(`${order.id}:request`);
    const [entry] = await redis.xrevrange(keys.orders, '+', '-', 'COUNT', 1);
    expect(entry?.[1]).toEqual([
      ...['orderId', order.id, 'voucherId', voucherId, 'userId', '7', 'requestId', 'request'],
    ]);
  });

  test.each([
    ['sold-out', '0', -hourMs, hourMs],
    ['not-started', '5', hourMs, 2 * hourMs],
    ['ended', '5', -2 * hourMs, -hourMs],
  ])('answers %s and changes nothing', async (word, stock, beginMs, endMs) => {
    await onSale(stock, Date.now() + beginMs, Date.now() + endMs);
    expect(((await buy('7')) as unknown[]).slice(0, 2)).toEqual([word, '']);
    expect(await stockLeft()).toBe(stock);
    expect(await redis.exists(keys.buyers(voucherId))).toBe(0);
  });

  test('never answers sold-out for a voucher that Redis does not know', async () => {
    expect(await buy('7')).toEqual(['unknown-voucher', '']);
    expect(await queuedOrders()).toBe(0);
  });

  test.each(['1e3', '05', '99999999999999999999'])(
    'takes nothing of the damaged stock %s, nor does the claim before a queue',
    async (damaged) => {
      await onSale('2');
      await redis.hset(keys.voucher(voucherId), 'stock', damaged);
      const touched = [keys.voucher(voucherId), keys.buyers(voucherId)];
      const claiming = runScript(redis, loadScript('sale/claim'), touched, ['1', '7', 'r']);
      expect([await buy('7'), await claiming]).toEqual([
        ['unknown-voucher', ''],
        ['unknown-voucher', ''],
      ]);
      expect(await redis.exists(keys.buyers(voucherId))).toBe(0);
      expect(await queuedOrders()).toBe(0);
    },
  );

  describe('writes nothing', () => {
    const places = ['voucher', 'buyers', 'orders', 'queued', 'epoch'] as const;
    const window = () => ({ beginMs: Date.now() - hourMs, endMs: Date.now() + hourMs });
    let own: Record<(typeof places)[number], string>;

    /** Keys that no other test has. */
    beforeEach(async () => {
      const named = places.map((place) => [place, `{sale:0}:${place} of ${voucherId}`]);
      own = Object.fromEntries(named);
      await redis.hset(own.voucher, { stock: '2', ...window() });
      await redis.set(own.epoch, 'an epoch');
    });
    const call = (...args: string[]) => runScript(redis, purchase, Object.values(own), args);
    const written = () => redis.exists(own.buyers, own.orders, own.queued);

    test.each(places)('when the key of the %s has the wrong type', async (place) => {
      await redis.del(own[place]);
      await redis.rpush(own[place], 'damaged');
      const buying = call('an epoch', voucherId, '1', '7', 'request');
      await expect(buying).rejects.toThrow('WRONGTYPE');
      expect(await written()).toBe(['voucher', 'epoch'].includes(place) ? 0 : 1);
      if (place !== 'voucher') expect(await redis.hget(own.voucher, 'stock')).toBe('2');
    });

    test.each([
      ['no buyer', []],
      ['a buyer without a request id', ['1', '7']],
      ['a second buyer without a user', ['1', '7', 'request', '2']],
    ])('for %s', async (_, buyers) => {
      await expect(call('', voucherId, ...buyers)).rejects.toThrow('each buyer has');
      expect(await written()).toBe(0);
      expect(await redis.hget(own.voucher, 'stock')).toBe('2');
    });

    test('for a used order id, before the stream has the order', async () => {
      await redis.hset(own.queued, '1', '9:9');
      expect(await call('', voucherId, '1', '7', 'request')).toEqual([['id-in-use', '']]);
      expect(await redis.exists(own.orders, own.buyers)).toBe(0);
    });

    test('but sells from the largest stock, to the longest request id', async () => {
      await redis.hset(own.voucher, 'stock', '9007199254740991');
      const requestId = 'r'.repeat(64);
      expect(await call('', voucherId, '1', '7', requestId)).toEqual([1]);
      expect(await redis.hget(own.voucher, 'stock')).toBe('9007199254740990');
      expect(await redis.hget(own.buyers, '7')).toBe(`1:${requestId}`);
    });
  });

  test('keeps ids above 2^53 to the last digit', async () => {
    await onSale('2');
    const sold = someOrder(voucherId, '9223372036854775807', 'request');
    const order = { ...sold, id: '9223372036854775805' };
    expect(await buy(order.userId, 'request', order)).toEqual(['accepted', '9223372036854775805']);
    expect(await redis.hget(keys.buyers(voucherId), '9223372036854775807')).toBe(
      '9223372036854775805:request',
    );
    await redis.hdel(keys.queued, order.id);
  });

  test('writes nothing for an order whose id is in use, and sells to the others', async () => {
    await onSale('3');
    const orders = ['7', '8', '9'].map((userId) => someOrder(voucherId, userId, 'request'));
    const [first, , last] = orders as [Order, Order, Order];
    const answers = await buyTogether([first, { ...orders[1], id: first.id } as Order, last]);
    expect(answers).toEqual([
      ['accepted', first.id],
      ['id-in-use', ''],
      ['accepted', last.id],
    ]);
    expect(await stockLeft()).toBe('1');
    expect(await redis.hkeys(keys.buyers(voucherId))).toEqual(['7', '9']);
    expect(await queuedOrders()).toBe(2);
  });

  test('works again after Redis forgot its scripts', async () => {
    await onSale('2');
    await buy('7');
    await redis.script('FLUSH');
    expect(await buy('8')).toEqual(['accepted', expect.any(String)]);
  });
});

describe('one call for several buyers', () => {
  const ordersOf = (...users: string[]) =>
    users.map((userId, index) => someOrder(voucherId, userId, `request-${index}`));

  test('sells to them in their order, and not one more than there are', async () => {
    await onSale('2');
    const [one, two, three] = ordersOf('7', '8', '9') as [Order, Order, Order];
    expect(await buyTogether([one, two, three])).toEqual([
      ['accepted', one.id],
      ['accepted', two.id],
      ['sold-out', '', two.id, expect.any(Number)],
    ]);
    expect(await redis.hmget(keys.voucher(voucherId), 'stock', 'soldOutBy')).toEqual(['0', two.id]);
    const [entry] = await redis.xrevrange(keys.orders, '+', '-', 'COUNT', 1);
    expect(ordersOfEntry(entry?.[1] ?? [])).toEqual([one, two]);
  });

  test('sells one to a user who asks twice in it, and knows the repeated request', async () => {
    await onSale('5');
    const [one, other] = ordersOf('7', '7') as [Order, Order];
    const again = { ...someOrder(voucherId, '7'), requestId: one.requestId };
    expect(await buyTogether([one, other, again])).toEqual([
      ['accepted', one.id],
      ['already-ordered', one.id],
      ['accepted', one.id],
    ]);
    expect(await stockLeft()).toBe('4');
    expect(await queuedOrders()).toBe(1);
  });

  test('asks and writes with as many commands for a hundred as for one', async () => {
    await onSale('200');
    const commands = ['hmget', 'hget', 'hexists', 'hset', 'hincrby'];
    const calls = () => Promise.all(commands.map((command) => callsOf(redis, command)));
    const callsFor = async (users: readonly string[]) => {
      const before = await calls();
      await buyTogether(ordersOf(...users));
      return (await calls()).map((count, index) => count - (before[index] ?? 0));
    };
    const one = await callsFor(['1']);
    expect(await callsFor(Array.from({ length: 100 }, (_, user) => String(user + 2)))).toEqual(one);
    expect(one).toEqual([3, 0, 0, 2, 1]);
  });

  test('refuses all of them in another epoch', async () => {
    await onSale('5');
    const answers = await buyTogether(ordersOf('7', '8'), 'another epoch');
    expect(answers).toEqual([
      ['other-epoch', ''],
      ['other-epoch', ''],
    ]);
    expect(await stockLeft()).toBe('5');
  });
});

function undo(orderId: string, userId: string, stock = '1', reopensAfterMs = '0') {
  const touched = [keys.voucher(voucherId), keys.buyers(voucherId), keys.dead];
  const args = [orderId, voucherId, userId, 'undeliverable', stock, '', reopensAfterMs];
  return runScript(redis, giveBack, touched, [...args, 'request', '1']);
}
const orderOf = async (userId: string) => ((await buy(userId)) as [string, string])[1];

test('giving back undoes nothing, and can be repeated, when the dead letters have the wrong type', async () => {
  // Keys that no other test has.
  const [voucher, buyers, dead] = ['voucher', 'buyers', 'dead'].map(
    (place) => `{sale:0}:${place} of ${voucherId}`,
  ) as [string, string, string];
  await redis.hset(voucher, 'stock', '0');
  await redis.hset(buyers, '7', '1:request');
  await redis.set(dead, 'damaged');
  const args = ['1', voucherId, '7', 'undeliverable', '1', '', '0', 'request', '1'];
  const undoing = () => runScript(redis, giveBack, [voucher, buyers, dead], args);
  await expect(undoing()).rejects.toThrow('WRONGTYPE');
  expect(await redis.hget(buyers, '7')).toBe('1:request');
  expect(await redis.hget(voucher, 'stock')).toBe('0');
  await redis.del(dead);
  expect(await undoing()).toBe('given-back');
  expect(await redis.hget(voucher, 'stock')).toBe('1');
});

test.each(['no number', null])(
  'giving back leaves a damaged stock (%s) as it is, and removes the buyer',
  async (stock) => {
    await onSale('1');
    const orderId = await orderOf('7');
    const voucher = keys.voucher(voucherId);
    if (stock === null) await redis.set(voucher, 'no hash');
    else await redis.hset(voucher, 'stock', stock);
    const letters = await redis.xlen(keys.dead);
    expect([await undo(orderId, '7'), await undo(orderId, '7')]).toEqual([
      'given-back',
      'already-given-back',
    ]);
    expect(await redis.exists(keys.buyers(voucherId))).toBe(0);
    expect(await redis.xlen(keys.dead)).toBe(letters + 1);
    if (stock !== null) expect(await redis.hget(voucher, 'stock')).toBe(stock);
  },
);

test('giving back to a voucher that Redis lost makes up no voucher', async () => {
  await onSale('1');
  const orderId = await orderOf('7');
  await redis.del(keys.voucher(voucherId));
  expect(await undo(orderId, '7')).toBe('given-back');
  expect(await redis.exists(keys.voucher(voucherId), keys.buyers(voucherId))).toBe(0);
});

describe('the answer sold-out', () => {
  const left = expect.any(Number);

  test('names the order that took the last one, and how long the sale still is', async () => {
    await onSale('2', undefined, Date.now() + 60_000);
    await buy('7');
    const last = await orderOf('8');
    const [word, , soldOutBy, leftMs] = (await buy('9')) as [string, string, string, number];
    expect([word, soldOutBy]).toEqual(['sold-out', last]);
    expect(leftMs).toBeGreaterThan(50_000);
    expect(leftMs).toBeLessThanOrEqual(60_000);
  });

  test('names its own state when there was nothing to sell', async () => {
    await onSale('0');
    expect(await buy('9')).toEqual(['sold-out', '', 'prepared', left]);
  });

  test('stays for a time after stock came back, and names no order', async () => {
    await onSale('1');
    await undo(await orderOf('7'), '7', '1', '300');
    expect(await buy('8')).toEqual(['sold-out', '', '', 0]);
    expect(await buy('7', 'again')).toEqual(['sold-out', '', '', 0]);
    await expect.poll(() => buy('8')).toEqual(['accepted', expect.any(String)]);
    expect(await buy('9')).toEqual(['sold-out', '', expect.stringMatching(/^\d+$/), left]);
  });

  test('does not come when stock came back that was not needed, or when none came back', async () => {
    await onSale('2');
    await undo(await orderOf('7'), '7', '1', '60000');
    expect(await buy('8')).toEqual(['accepted', expect.any(String)]);
    const last = await orderOf('9');
    await undo(last, '9', '0', '60000');
    expect(await buy('10')).toEqual(['sold-out', '', last, left]);
  });
});

describe('a purchase that Redis does not run is refused, and not unknown, when', () => {
  const sell = (by: Redis) => sellByScript(by, {})(keys, someOrder(voucherId, '7'));
  const notSold = { kind: 'refused', reason: 'not-ready' };

  test('a script of another client does not end', async () => {
    const { url } = await startOwnRedis({ 'busy-reply-threshold': '1' });
    const [buyer, other] = [clientOf(url), clientOf(url)];
    await buyer.ping();
    const endless = other.eval('while true do end', 0).catch(() => {});
    await waitUntil('Redis to be busy', 20_000, () => buyer.ping().then(() => false, isBusy));
    expect((await sell(buyer)).outcome).toMatchObject(notSold);
    await buyer.script('KILL');
    await endless;
  });

  test.each([
    ['its user may call no script', '-evalsha -eval'],
    ['its user may not touch the keys', 'resetkeys'],
  ])('%s', async (_, rules) => {
    const { url } = await startOwnRedis();
    const buyer = clientOf(url);
    await buyer.call('ACL', 'SETUSER', 'default', ...rules.split(' '));
    expect((await sell(buyer)).outcome).toMatchObject(notSold);
  });

  test('a command inside the script is forbidden: it may have written before, so it is unknown', async () => {
    const { url } = await startOwnRedis();
    const buyer = clientOf(url);
    redis = buyer;
    await onSale('5');
    await buyer.call('ACL', 'SETUSER', 'default', '-xadd');
    expect((await sell(buyer)).outcome).toMatchObject({ kind: 'unknown' });
  });
});

const isBusy = (error: Error) => error.message.startsWith('BUSY ');

function clientOf(url: string): Redis {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  return client;
}
