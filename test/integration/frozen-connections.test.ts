/**
 * A connection whose packets are dropped while it stays open: it is destroyed after a stated time,
 * and the next one works.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { select } from '../../src/service/connections/mysql.ts';
import { openPool, type Wire } from '../../src/service/connections/mysql-pool.ts';
import type { RedisRole } from '../../src/service/connections/redis.ts';
import { isStoreUnavailable } from '../../src/service/connections/store-errors.ts';
import { isServiceError } from '../../src/service/errors.ts';
import { stockPositive } from '../../src/service/inventory/stock-positive.ts';
import { freeLease } from '../../src/service/locks/none.ts';
import { withCode } from '../support/basics.ts';
import { patient, quietRedis, testConnections } from '../support/connections.ts';
import { isOnMysql, ownLab } from '../support/own-lab.ts';
import { quietSale } from '../support/own-sale.ts';
import { isRunning, lockRow } from '../support/own-stores.ts';
import { luaStreamSale, someOrder, someVoucher, startWorker } from '../support/sale.ts';
import { proxyBefore, type TestProxy } from '../support/test-proxy.ts';

/** What an answer may take in these tests, and a reconnect on a busy machine. */
const answerMs = 2_000;
const reconnectMs = 15_000;

interface Behind {
  readonly connections: Connections;
  readonly proxy: TestProxy;
}

async function redisBehindProxy(changes: Readonly<Record<string, string>> = {}): Promise<Behind> {
  const proxy = await proxyBefore(quietRedis());
  return { proxy, connections: testConnections({ REDIS_URL: proxy.url, ...changes }) };
}

const proxyOfMysql = () => proxyBefore(ownLab.environment['MYSQL_URL'] ?? '');

async function mysqlBehindProxy(changes: Readonly<Record<string, string>> = {}): Promise<Behind> {
  const proxy = await proxyOfMysql();
  const settings = { MYSQL_URL: proxy.url, MYSQL_ANSWER_MS: String(answerMs), ...changes };
  return { proxy, connections: testConnections(settings) };
}

/** Sends until an answer comes. @returns how long that took. */
async function untilAnswer(send: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await waitUntil('an answer', 30_000, async () => Boolean(await send()));
  return performance.now() - startedAt;
}

describe.skipIf(isOnMysql)('a frozen connection to Redis', () => {
  test('of a purchase: the first answer is unknown, and then it sells on a new connection', async () => {
    const { connections, proxy } = await redisBehindProxy({
      PURCHASE_ANSWER_MS: String(answerMs),
    });
    const { inventory, voucher } = await luaStreamSale(connections, { stock: 100 });
    proxy.freeze();
    const order = someOrder(voucher.id, '7', 'once');
    expect(await inventory.sell(order, voucher, freeLease)).toMatchObject({ kind: 'unknown' });
    const tookMs = await untilAnswer(async () => {
      const outcome = await inventory.sell(someOrder(voucher.id, '8', 'twice'), voucher, freeLease);
      return outcome.kind === 'accepted';
    });
    expect(tookMs).toBeLessThan(answerMs + reconnectMs);
    // Nothing of the frozen connection took effect.
    expect(await inventory.remaining(voucher)).toBe(99);
  });

  test.each(['lock', 'admin'] satisfies RedisRole[])(
    'of the role %s: it is replaced',
    async (role) => {
      const settings = { ...patient, LOCK_ANSWER_MS: String(answerMs) };
      const { connections, proxy } = await redisBehindProxy(settings);
      const redis = connections.redis(role);
      await connections.ready();
      proxy.freeze();
      const tookMs = await untilAnswer(() => redis.ping());
      expect(tookMs).toBeLessThan((role === 'admin' ? 2_500 : answerMs) + reconnectMs);
    },
  );

  test('of a subscriber: it hears again, although it never asks for anything', async () => {
    const { connections, proxy } = await redisBehindProxy();
    const heard: string[] = [];
    const subscriber = connections.redis('subscriber');
    subscriber.on('message', (_channel, message) => heard.push(message));
    await subscriber.subscribe('frozen-connections');
    subscriber.on('ready', () => subscriber.subscribe('frozen-connections')); // As the locks do.
    proxy.freeze();
    const tookMs = await untilAnswer(async () => {
      await connections.redis('admin').publish('frozen-connections', 'still there?');
      return heard.length > 0;
    });
    expect(tookMs).toBeLessThan(3_000 + reconnectMs);
  });
});

describe('a frozen connection to MySQL', () => {
  test('is destroyed, and the pool opens another one', async () => {
    const { connections, proxy } = await mysqlBehindProxy({ MYSQL_POOL_SIZE: '2' });
    const pool = connections.mysql();
    const ask = () => select(pool, "SELECT 'x' AS one");
    await Promise.all([ask(), ask()]);
    proxy.freeze();
    const frozen = await Promise.all([1, 2, 3, 4].map(() => ask().catch((error) => error)));
    const silent = frozen.filter((answer) => isServiceError(answer, 'MYSQL_SILENT'));
    expect(silent).toHaveLength(2);
    expect(silent.every(isStoreUnavailable)).toBe(true);
    expect(frozen.slice(2)).toEqual([[{ one: 'x' }], [{ one: 'x' }]]);
  });

  test('is replaced while nobody needs it: the next statement does not wait', async () => {
    const proxy = await proxyOfMysql();
    const pool = openPool(proxy.url, { connectionLimit: 2, answerMs, askEveryMs: 100 });
    onTestFinished(() => pool.end());
    let replaced = 0;
    pool.on('connection', (opened) => {
      (opened as unknown as Wire).stream.once('close', () => (replaced += 1));
    });
    await Promise.all([select(pool, 'SELECT 1'), select(pool, 'SELECT 1')]);
    proxy.freeze();
    await waitUntil('both to be replaced', answerMs + reconnectMs, () => replaced === 2);
    const startedAt = performance.now();
    await Promise.all([select(pool, 'SELECT 1'), select(pool, 'SELECT 1')]);
    expect(performance.now() - startedAt).toBeLessThan(answerMs);
  });

  test('in a transaction refuses the sale, and at COMMIT its outcome is unknown', async () => {
    const { connections, proxy } = await mysqlBehindProxy({ MYSQL_POOL_SIZE: '1' });
    const voucher = await someVoucher(connections, { stock: 10 });
    const inventory = stockPositive(connections.mysql());
    const sell = (user: string, freeze: () => void) =>
      inventory.sell(someOrder(voucher.id, user), voucher, { ...freeLease, assertHeld: freeze });
    const outcome = await sell('7', () => proxy.freeze());
    expect(outcome).toMatchObject({ kind: 'unknown', cause: withCode('COMMIT_UNKNOWN') });
    // The frozen transaction has the voucher's row, until its session is ended.
    expect(await sell('8', () => {})).toMatchObject({ kind: 'accepted' });
    proxy.freeze();
    expect(await sell('9', () => {})).toMatchObject({ kind: 'refused', reason: 'not-ready' });
    expect(await sell('10', () => {})).toMatchObject({ kind: 'accepted' });
  });

  test('has no session in MySQL afterwards, also when its statement still runs', async () => {
    const { connections } = await mysqlBehindProxy();
    const sleeping = select(connections.mysql(), 'SELECT SLEEP(50), 1 AS asleep');
    await expect(sleeping).rejects.toMatchObject({ code: 'MYSQL_SILENT' });
    const pool = testConnections().mysql();
    const isOver = async () => !(await isRunning(pool, 'AS asleep'));
    await waitUntil('the statement to end', 20_000, isOver);
  });
});

describe('an order worker', () => {
  const never = { CLAIM_IDLE_MS: '60000', PROGRESS_WITHIN_MS: '120000' };
  const settings = { ...never, BATCH_GATHER_MS: '0' };
  const quickly = { ...settings, CLAIM_IDLE_MS: '200', REDIS_URL: quietRedis() };

  /** A worker behind the proxy, and a sale that is not. */
  async function saleWithWorker({ connections, proxy }: Behind) {
    const sale = await quietSale({ stock: 100, lab: { rails: false, workMs: 0, retries: 0 } });
    onTestFinished(startWorker(connections));
    let user = 0;
    const buy = async (count: number) => {
      for (let bought = 0; bought < count; bought++) await sale.bought(++user);
    };
    const untilRecorded = async (count: number, withinMs: number) => {
      const depth = () => sale.redis.xlen(sale.keys.orders);
      await waitUntil('the queue to be empty', withinMs, async () => (await depth()) === 0);
      const { confirmed, failed } = await sale.recorded();
      expect([confirmed.length, failed]).toEqual([count, []]);
      expect(await sale.inMysql()).toEqual({ initial: 100, stock: 100 - count });
    };
    return { sale, buy, untilRecorded, freeze: () => proxy.freeze() };
  }

  test('records again after its connections to MySQL froze, each order once', async () => {
    const { buy, untilRecorded, freeze } = await saleWithWorker(await mysqlBehindProxy(quickly));
    await buy(3);
    await untilRecorded(3, 10_000);
    freeze();
    await buy(5);
    await untilRecorded(8, answerMs + 200 + 2 * reconnectMs);
  });

  test('records a batch whose transaction froze half-way', async () => {
    const behind = await mysqlBehindProxy(quickly);
    const { buy, untilRecorded, freeze, sale } = await saleWithWorker(behind);
    const letGo = await lockRow(sale.pool, `seckill_stock WHERE voucher_id = ${sale.id}`);
    await buy(5);
    const waits = () => isRunning(sale.pool, 'UPDATE seckill_stock SET stock = stock -');
    await waitUntil('the batch to wait for the row', 20_000, waits);
    freeze(); // Its inserts are done, and its COMMIT will never arrive.
    await letGo();
    await untilRecorded(5, answerMs + 200 + 3 * reconnectMs);
  });

  test.skipIf(isOnMysql)(
    'records again after its connections to Redis froze, each order once',
    async () => {
      const { buy, untilRecorded, freeze } = await saleWithWorker(await redisBehindProxy(settings));
      await buy(3);
      await untilRecorded(3, 10_000);
      freeze();
      await buy(5);
      // The acknowledgement may wait for the role `admin`: 5 s.
      await untilRecorded(8, 2_500 + 2 * reconnectMs);
    },
  );
});
