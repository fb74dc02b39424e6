/**
 * What each route answers while a store is away, or has lost its data: never "internal error", and
 * never an answer that claims more than the remaining store knows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { change } from '../../src/service/connections/mysql.ts';
import { oldestOrderMs } from '../../src/service/connections/probes.ts';
import { isStoreUnavailable } from '../../src/service/connections/store-errors.ts';
import type { App } from '../../src/service/http/openapi.ts';
import { answerKeptMs, pageSize } from '../../src/service/purchase/vouchers.ts';
import { openSale, tokenFor } from '../support/client.ts';
import { quietRedis, readyConnections, testConnections } from '../support/connections.ts';
import { type Instance, instanceWithout, openInstance } from '../support/instance.ts';
import { ownStores } from '../support/own-stores.ts';
import { someVoucher } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';

/** Status, and the code of a problem. */
async function answer(app: App, method: string, path: string, user = '8'): Promise<string> {
  const headers = { authorization: `Bearer ${await tokenFor(user)}` };
  const response = await app.request(path, { method, headers });
  const body = (await response.json()) as { code?: string };
  return [response.status, body.code].filter(Boolean).join(' ');
}

/** As an operator. A voucher is created where there is no path. */
async function operate(app: App, path?: string) {
  const authorization = `Bearer ${await tokenFor('1', 'operator')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const create = { method: 'POST', headers, body: JSON.stringify(openSale({ stock: 2 })) };
  const response = await app.request(path ?? '/vouchers', path ? { headers } : create);
  const body = (await response.json()) as { id: string; code?: string };
  return { status: response.status, ...body };
}

test('all who ask within a quarter of a second whether an instance is ready cost one look', async () => {
  const connections = testConnections({ REDIS_URL: quietRedis(), ORDER_DURABILITY: 'everysec' });
  const { app } = await openInstance(connections);
  const redis = connections.redis('admin');
  const commands = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const before = await commands();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 200 }, () => app.request('/readyz')));
  for (let count = 0; count < 40; count++) {
    await app.request('/readyz');
    await sleep(2); // Not all of them at once.
  }
  const looks = 1 + (performance.now() - startedAt) / 250; // At most: a slow machine takes longer.
  expect((await commands()) - before).toBeLessThan(30 * looks);
});

describe.each(['MySQL', 'Redis'] as const)('without %s', (store) => {
  test('no voucher is created, and none is audited', async () => {
    const { app, known } = await instanceWithout(store);
    for (const path of [undefined, `/vouchers/${known}/audit`])
      expect(await operate(app, path)).toMatchObject({ status: 503, code: 'not-ready' });
  });
});

type Asked = readonly [answer: string, method: string, path: string, user?: string];
type Answers = Readonly<Record<string, (of: Instance) => readonly Asked[]>>;

function testAnswersWithout(store: 'MySQL' | 'Redis', answers: Answers): void {
  test.each(Object.entries(answers))('%s', async (_, askedOf) => {
    const away = await instanceWithout(store);
    for (const [expected, ...request] of askedOf(away))
      expect([await answer(away.app, ...request), ...request]).toEqual([expected, ...request]);
  });
}

describe('without MySQL', () => {
  testAnswersWithout('MySQL', {
    'a known voucher is sold and shown, with its remaining stock': ({ known }) => [
      ['202', 'POST', `/vouchers/${known}/orders`],
      ['200', 'GET', `/vouchers/${known}`],
    ],
    'a voucher that the instance does not have in memory is sold: Redis has a copy': ({ cold }) => [
      ['202', 'POST', `/vouchers/${cold}/orders`],
      ['200', 'GET', `/vouchers/${cold}`],
    ],
    'a voucher that no store knows and the list are not ready': () => [
      ['503 not-ready', 'POST', '/vouchers/999999999/orders'],
      ['503 not-ready', 'GET', '/vouchers/999999999'],
      ['503 not-ready', 'GET', '/vouchers'],
    ],
    'a queued order is shown': ({ order }) => [['200', 'GET', `/orders/${order}`, '7']],
    'a recorded order is not ready, and not "unknown"': ({ recorded }) => [
      ['503 not-ready', 'GET', `/orders/${recorded}`, '9'],
    ],
  });

  test('a known voucher in buckets is sold: its number of buckets is remembered too', async () => {
    const { app, known } = await instanceWithout('MySQL', { rung: 'lua-buckets', buckets: 2 });
    const answers: string[] = [];
    for (let user = 10; user <= 20; user++)
      answers.push(await answer(app, 'POST', `/vouchers/${known}/orders`, `${user}`));
    expect(answers.filter((each) => each === '202')).toHaveLength(4);
    expect(new Set(answers.slice(4))).toEqual(new Set(['409 sold-out']));
  });

  test('the instance is ready, and says that it is degraded', async () => {
    const { app } = await instanceWithout('MySQL');
    const response = await app.request('/readyz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      ...{ status: 'degraded', unanswered: ['MySQL'], readOnly: [] },
      oldestOrderMs: expect.any(Number),
    });
  });
});

describe('without Redis', () => {
  testAnswersWithout('Redis', {
    'the instance is not ready, and it lives': () => [
      ['503 not-ready', 'GET', '/readyz'],
      ['200', 'GET', '/livez'],
    ],
    'nothing is sold, and the purchase says that nothing was sent': ({ known, cold }) =>
      [known, cold].map((id) => ['503 not-ready', 'POST', `/vouchers/${id}/orders`] as const),
    'the list of vouchers and a recorded order are shown': ({ recorded }) => [
      ['200', 'GET', '/vouchers'],
      ['200', 'GET', `/orders/${recorded}`, '9'],
    ],
    'an order that MySQL does not have is not ready, and not "unknown"': ({ order }) => [
      ['503 not-ready', 'GET', `/orders/${order}`, '7'],
    ],
  });

  test('a voucher is shown without a remaining stock, and never as 0', async () => {
    const { app, known } = await instanceWithout('Redis');
    const response = await app.request(`/vouchers/${known}`);
    expect(response.status).toBe(200);
    expect(await response.json()).not.toHaveProperty('remaining');
  });
});

describe('with both stores the instance is ready', () => {
  const answered = { unanswered: [], readOnly: [] };

  async function readyInstance() {
    const { url } = await startOwnRedis();
    const connections = testConnections({
      ...{ REDIS_URL: url, ORDER_DURABILITY: 'everysec' },
      ...{ PROGRESS_WITHIN_MS: '2000', CLAIM_IDLE_MS: '1000' },
    });
    const { app, service } = await openInstance(connections);
    const readiness = async () => (await app.request('/readyz')).json();
    return { app, service, connections, readiness };
  }

  test('and says for how long the oldest order waits: at first, none does', async () => {
    const { readiness } = await readyInstance();
    expect(await readiness()).toEqual({ status: 'ok', ...answered, oldestOrderMs: null });
  });

  test('and tells the longest wait of all shards, also when one does not say its own', async () => {
    const { url } = await startOwnRedis();
    const connections = await readyConnections({ REDIS_URL: url, SALE_SHARDS: '3' });
    const redis = connections.redis('admin');
    const [first, second, third] = connections.saleKeys.shards.map(({ orders }) => orders);
    await redis.set(first ?? '', 'no stream');
    expect(await oldestOrderMs(connections)).toBeNull();
    const now = Date.now();
    await redis.xadd(second ?? '', `${now - 50_000}-0`, 'a', 'b');
    await redis.xadd(third ?? '', `${now - 90_000}-0`, 'a', 'b');
    const waited = await oldestOrderMs(connections);
    expect(waited).toBeGreaterThanOrEqual(90_000);
    expect(waited).toBeLessThan(100_000);
  });

  test('and degraded, once an order has waited for too long', async () => {
    const { app, service, connections, readiness } = await readyInstance();
    const voucher = await someVoucher(connections, { stock: 5 });
    await (await service.rungOf(voucher)).inventory.prepare(voucher);
    expect(await answer(app, 'POST', `/vouchers/${voucher.id}/orders`)).toBe('202');
    expect(await readiness()).toMatchObject({ status: 'ok', oldestOrderMs: expect.any(Number) });
    await expect.poll(readiness).toMatchObject({ status: 'degraded' });
    const { oldestOrderMs, ...rest } = (await readiness()) as { oldestOrderMs: number };
    expect(rest).toEqual({ status: 'degraded', ...answered });
    expect(oldestOrderMs).toBeGreaterThan(2_000);
  });
});

describe('with a Redis that stays silent', () => {
  /** Ready until it does; only /readyz itself then limits how long it waits. */
  async function patientInstance() {
    const redis = await startOwnRedis();
    const connections = testConnections({ REDIS_URL: redis.url });
    const { app } = await openInstance(connections);
    for (const role of ['admin', 'purchase'] as const)
      Object.assign(connections.redis(role).options, {
        ...{ commandTimeout: undefined, socketTimeout: undefined },
      });
    connections.epoch.set('a');
    for (const { epoch } of connections.saleKeys.shards)
      await connections.redis('admin').set(epoch, 'a');
    expect(await answer(app, 'GET', '/readyz')).toBe('200');
    return { app, redis, connections };
  }

  test('/readyz does not wait for a frozen Redis: the instance is not ready', async () => {
    const { app, redis } = await patientInstance();
    await redis.pause();
    onTestFinished(() => redis.resume());
    const readyz = () => answer(app, 'GET', '/readyz');
    await expect.poll(readyz).toBe('503 not-ready');
  }, 40_000);

  test('/readyz does not wait for the epoch: the connection of the purchases decides', async () => {
    const { app, connections } = await patientInstance();
    const blocked = connections.redis('admin').blpop('a list that nobody fills', 0);
    blocked.catch(() => {}); // Until the connection is closed, it answers nothing else.
    expect(await answer(app, 'GET', '/readyz')).toBe('200');
  }, 40_000);
});

test('MySQL is asked once in a second for the list, and for a voucher that nobody created', async () => {
  const connections = testConnections();
  const { app } = await openInstance(connections);
  const queries = vi.spyOn(connections.mysql(), 'execute');
  const asked = async (path: string, method = 'GET') => {
    const before = queries.mock.calls.length;
    return [await answer(app, method, path), queries.mock.calls.length - before];
  };
  const none = '/vouchers/9223372036854775807';
  for (const [path, status] of Object.entries({
    '/vouchers': '200',
    [none]: '404 unknown-voucher',
  })) {
    expect(await asked(path)).toEqual([status, 1]);
    expect(await asked(path)).toEqual([status, 0]);
  }
  expect(await asked(`${none}/orders`, 'POST')).toEqual(['404 unknown-voucher', 0]);
  await sleep(answerKeptMs);
  for (const path of ['/vouchers', none]) expect((await asked(path))[1]).toBe(1);
});

test('the list has pages, and each voucher is in one of them', async () => {
  const connections = testConnections(await ownStores());
  const { app } = await openInstance(connections);
  const pool = connections.mysql();
  const count = 2 * pageSize + 1;
  for (let id = 1; id <= count; id++) {
    const window = [new Date(0), new Date(1_000), 'lua-stream'];
    const columns = '(id, title, begin_time, end_time, rung)';
    await change(pool, `INSERT INTO vouchers ${columns} VALUES (?, 'a', ?, ?, ?)`, [id, ...window]);
    await change(pool, 'INSERT INTO seckill_stock VALUES (?, 1, 1, 0)', [id]);
  }
  const pages: string[][] = [];
  for (let path = '/vouchers'; path !== ''; ) {
    const page = await app.request(path);
    pages.push(((await page.json()) as { id: string }[]).map(({ id }) => id));
    path = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
  }
  expect(pages.map(({ length }) => length)).toEqual([pageSize, pageSize, 1]);
  expect(pages.flat()).toEqual(Array.from({ length: count }, (_, index) => String(count - index)));
  for (const before of ['0', '-1', 'x', '9223372036854775808'])
    expect(await answer(app, 'GET', `/vouchers?before=${before}`)).toBe('400 invalid-request');
});

test('a list that is being read when a voucher is created is answered, and is not kept', async () => {
  const connections = testConnections();
  const { service, app } = await openInstance(connections);
  const pool = connections.mysql();
  const { id: _, ...sale } = await someVoucher(connections, { stock: 1 });
  const execute = pool.execute.bind(pool);
  let id = '';
  vi.spyOn(pool, 'execute').mockImplementationOnce(async (options, values) => {
    const read = await execute(options, values);
    ({ id } = await service.vouchers.create(sale, async () => {}));
    return read;
  });
  expect(await answer(app, 'GET', '/vouchers')).toBe('200');
  const list = (await (await app.request('/vouchers')).json()) as { id: string }[];
  expect(list.map((each) => each.id)).toContain(id);
});

test('a voucher that was asked for before it was created is sold at once where it was created', async () => {
  const connections = testConnections();
  const { app } = await openInstance(connections);
  const first = Number((await operate(app)).id);
  const soon = Array.from({ length: 50 }, (_, index) => `/vouchers/${first + 1 + index}`);
  for (const path of soon) await answer(app, 'GET', path);
  await answer(app, 'GET', '/vouchers');
  const { id } = await operate(app);
  expect(soon).toContain(`/vouchers/${id}`);
  expect(await answer(app, 'POST', `/vouchers/${id}/orders`)).toBe('202');
  const list = (await (await app.request('/vouchers')).json()) as { id: string }[];
  expect(list.map((each) => each.id)).toContain(id);
});

test('where the ids of MySQL begin again, a voucher is not created over the sale that Redis has', async () => {
  const connections = testConnections({ REDIS_URL: quietRedis() });
  const redis = connections.redis('admin');
  const { app } = await openInstance(connections);
  const taken = String(Number((await operate(app)).id) + 1);
  const hash = connections.saleKeys.of(taken).voucher(taken);
  await redis.hset(hash, { stock: 100, beginMs: 0, endMs: Date.now() + 60_000 });
  expect(await operate(app)).toMatchObject({ status: 503, code: 'not-ready' });
  expect(await answer(app, 'POST', `/vouchers/${taken}/orders`)).toBe('404 unknown-voucher');
  expect(await redis.hget(hash, 'stock')).toBe('100');
  expect((await operate(app)).status).toBe(201);
  await redis.del(hash);
});

test('more statements than MYSQL_QUEUE_LIMIT do not wait: they find the store unavailable', async () => {
  const pool = testConnections({ MYSQL_POOL_SIZE: '1', MYSQL_QUEUE_LIMIT: '2' }).mysql();
  const sleep = () => pool.query('SELECT SLEEP(0.3)');
  const results = await Promise.allSettled([sleep(), sleep(), sleep(), sleep()]);
  const fates = results.map(
    (each) => each.status === 'rejected' && isStoreUnavailable(each.reason),
  );
  expect(fates).toEqual([false, false, false, true]);
  expect(results.map(({ status }) => status === 'rejected')).toEqual(fates);
});
