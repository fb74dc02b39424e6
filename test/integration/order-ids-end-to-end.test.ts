/**
 * Order ids through the whole service: every digit stays, in Redis, MySQL, JSON and the log;
 * without an id, no sale.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { change, select } from '../../src/service/connections/mysql.ts';
import { counterKey } from '../../src/service/order-ids/redis-worker.ts';
import { call, clientOf, get, putOnSale } from '../support/client.ts';
import { readyConnections, testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { serviceEntry, startService } from '../support/service-process.ts';

const users = ['1', '2', '3', '4', '5'];

/** One more API instance, beside those of the lab, which record what it sells. */
const instanceWith = async (ORDER_IDS: string): Promise<string> => {
  const settings = { ...ownLab.environment, ORDER_WORKERS: '0', ORDER_IDS };
  return (await startService(serviceEntry, settings)).baseUrl;
};

const clientAt = (baseUrl: string) => clientOf(baseUrl, labTokenSecret);

interface Bought {
  readonly id: string;
  readonly json: string;
  readonly location: string | null;
}

async function buyAt(baseUrl: string, voucherId: string, userId: string): Promise<Bought> {
  const answer = await clientAt(baseUrl).post(`/vouchers/${voucherId}/orders`, userId);
  const json = await answer.text();
  expect(answer.status).toBe(202);
  const [, id = ''] = /"id":"(\d+)"/.exec(json) ?? [];
  return { id, json, location: answer.headers.get('location') };
}

const idsInMysql = async (connections: Connections, voucherId: string): Promise<string[]> => {
  const sql = 'SELECT CAST(id AS CHAR) AS id FROM orders WHERE voucher_id = ? ORDER BY user_id';
  return (await select<{ id: string }>(connections.mysql(), sql, [voucherId])).map(({ id }) => id);
};

describe.each(['snowflake', 'redis-worker'])('an order id of %s', (orderIds) => {
  let connections: Connections;

  const open = async () => {
    connections = await readyConnections();
    return instanceWith(orderIds);
  };

  test('is the same in every answer, in Redis and in MySQL', async () => {
    const baseUrl = await open();
    const voucherId = await putOnSale();
    const bought = await Promise.all(users.map((userId) => buyAt(baseUrl, voucherId, userId)));
    const ids = bought.map(({ id }) => id);
    for (const id of ids) expect(BigInt(id)).toBeGreaterThan(BigInt(Number.MAX_SAFE_INTEGER));
    // Were one of them made a number anywhere, it would show below.
    expect(ids.some((id) => String(Number(id)) !== id)).toBe(true);
    expect(bought.map(({ location }) => location)).toEqual(ids.map((id) => `/orders/${id}`));

    const buyers = await connections
      .redis('admin')
      .hmget(connections.saleKeys.of(voucherId).buyers(voucherId), ...users);
    expect(buyers.map((value) => value?.split(':')[0])).toEqual(ids);
    const areThere = async () => (await idsInMysql(connections, voucherId)).length === 5;
    await waitUntil('MySQL to have them', 20_000, areThere);
    expect(await idsInMysql(connections, voucherId)).toEqual(ids);
    for (const [index, id] of ids.entries()) {
      const answer = await get(`/orders/${id}`, users[index] ?? '');
      expect(await answer.text()).toContain(`"id":"${id}"`);
    }
  });

  test('is the same in the log', async () => {
    const baseUrl = await open();
    const voucherId = await putOnSale();
    const none = 'UPDATE seckill_stock SET stock = 0 WHERE voucher_id = ?';
    // So that the order is dead-lettered, which is logged.
    await change(connections.mysql(), none, [voucherId]);
    const { id } = await buyAt(baseUrl, voucherId, '7');
    const log = () => readFileSync(join(ownLab.folder, 'service.log'), 'utf8');
    const isTold = () => log().includes(`"orderId":"${id}"`);
    await waitUntil('the log to tell of the order', 20_000, isTold);
  });
});

const stepClock = (baseUrl: string, ms: number) =>
  clientAt(baseUrl).operate('POST', `/lab/step-clock?ms=${ms}`);

/** Of the /readyz of an instance, before and while its clock is a minute late, and after that. */
async function readinessAround(baseUrl: string): Promise<[status: number, body: unknown][]> {
  const seen: [number, unknown][] = [];
  for (const ms of [0, -60_000, 0]) {
    await stepClock(baseUrl, ms);
    const answer = await call('/readyz', { baseUrl });
    seen.push([answer.status, await answer.json()]);
  }
  return seen;
}

test('an instance that can make no order ids is not ready, and says why', async () => {
  const [before, meanwhile, after] = await readinessAround(await instanceWith('snowflake'));
  expect([before?.[0], after?.[0]]).toEqual([200, 200]);
  expect(meanwhile).toEqual([
    503,
    expect.objectContaining({
      code: 'not-ready',
      detail: expect.stringMatching(/^No order id can be made: the clock is \d+ ms behind/),
    }),
  ]);
});

test('an instance whose order ids need no clock is ready with any', async () => {
  const seen = await readinessAround(await instanceWith('redis-worker'));
  expect(seen.map(([status]) => status)).toEqual([200, 200, 200]);
});

test('an id of redis-worker goes by the clock of its instance, also after a step', async () => {
  const baseUrl = await instanceWith('redis-worker');
  const voucherId = await putOnSale();
  const before = await buyAt(baseUrl, voucherId, '7');
  await stepClock(baseUrl, -600_000);
  const after = await buyAt(baseUrl, voucherId, '8');
  const secondsOf = ({ id }: { id: string }) => Number(BigInt(id) >> 32n);
  const steppedBackBy = secondsOf(before) - secondsOf(after);
  expect(steppedBackBy).toBeGreaterThan(500);
  expect(steppedBackBy).toBeLessThanOrEqual(600);
});

test('without an order id a purchase is refused as not-ready, and nothing is sold', async () => {
  const connections = testConnections();
  const redis = connections.redis('admin');
  const baseUrl = await instanceWith('redis-worker');
  const voucherId = await putOnSale();
  const today = counterKey(Date.now());
  await redis.del(today);
  await redis.lpush(today, 'not a counter');
  const { buy } = clientAt(baseUrl);
  expect(await buy(voucherId, '7')).toMatchObject({ httpStatus: 503, code: 'not-ready' });
  await redis.del(today);
  const { voucher } = connections.saleKeys.of(voucherId);
  expect(await redis.hget(voucher(voucherId), 'stock')).toBe('5');
  expect((await buy(voucherId, '7')).httpStatus).toBe(202);
});
