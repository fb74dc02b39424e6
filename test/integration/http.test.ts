/** The API as clients meet it: through nginx, on four instances. */
import { readFileSync } from 'node:fs';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { CpuProfile } from '../../src/lab/benchmarks/cpu-profile.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { labTokenSecret } from '../../src/service/config.ts';
import { select } from '../../src/service/connections/mysql.ts';
import {
  buy,
  call,
  confirmed,
  get,
  openSale,
  operate,
  post,
  putOnSale,
  tokenFor,
} from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { instanceWithout, openInstance } from '../support/instance.ts';
import { ownLab } from '../support/own-lab.ts';

const create = async (body: object | string, type = 'application/json') =>
  call('/vouchers', {
    ...{ method: 'POST', token: await tokenFor('1', 'operator'), body },
    headers: { 'content-type': type },
  });

const hourMs = 3_600_000;
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();

describe('a purchase', () => {
  test('on the final rung is accepted with 202 and confirmed soon after', async () => {
    const voucherId = await putOnSale();
    const order = await buy(voucherId, '7');
    const location = `/orders/${order.id}`;
    expect(order).toMatchObject({ httpStatus: 202, status: 'queued', location });
    await confirmed(order.location, '7');
  });

  test('on a rung without a queue is confirmed with 201', async () => {
    const voucherId = await putOnSale({ rung: 'stock-positive' });
    expect(await buy(voucherId, '7')).toMatchObject({ httpStatus: 201, status: 'confirmed' });
  });

  test.each([
    ['in the quotes of the standard', '"once"', 'once'],
    ['of 255 characters', 'x'.repeat(255), `"${'x'.repeat(255)}"`],
    ['with other characters than letters', '"cart:7/a+b=="', 'cart:7/a+b=='],
  ])('sent again under a key %s is the same order', async (_, key, again) => {
    const voucherId = await putOnSale();
    const first = await buy(voucherId, '7', { 'idempotency-key': key });
    expect(first.httpStatus).toBe(202);
    expect(await buy(voucherId, '7', { 'idempotency-key': again })).toEqual(first);
    const other = { 'idempotency-key': `${'x'.repeat(254)}y` };
    expect(await buy(voucherId, '7', other)).toMatchObject({ code: 'already-ordered' });
  });

  test('is refused with a code and, where there is one, the order', async () => {
    const soldOut = await putOnSale({ stock: 0 });
    expect(await buy(soldOut, '7')).toMatchObject({ httpStatus: 409, code: 'sold-out' });
    const voucherId = await putOnSale();
    const { id } = await buy(voucherId, '7');
    const again = { httpStatus: 409, code: 'already-ordered', orderId: id };
    expect(await buy(voucherId, '7')).toMatchObject(again);
    for (const rung of ['lua-stream', 'stock-positive']) {
      const early = await putOnSale({ rung, beginTime: fromNow(hourMs / 2) });
      expect(await buy(early, '7')).toMatchObject({ httpStatus: 403, code: 'not-started' });
      const late = await putOnSale({ rung, endTime: fromNow(-hourMs / 2) });
      expect(await buy(late, '7')).toMatchObject({ httpStatus: 410, code: 'ended' });
    }
    const unknown = { httpStatus: 404, code: 'unknown-voucher' };
    expect(await buy('999999999999', '7')).toMatchObject(unknown);
  });

  test('is the token’s user’s, whatever headers and body say', async () => {
    const voucherId = await putOnSale();
    const sent = { headers: { 'x-user-id': '8' }, body: { userId: '8' } };
    const answer = await post(`/vouchers/${voucherId}/orders`, '7', sent);
    const { id } = (await answer.json()) as { id: string };
    expect((await get(`/orders/${id}`, '7')).status).toBe(200);
    expect((await get(`/orders/${id}`, '8')).status).toBe(404);
  });
});

describe('a voucher in buckets', () => {
  const rung = 'lua-buckets';
  const declare = async (changes: Readonly<Record<string, unknown>>) => {
    const answer = await create(openSale(changes));
    const body = (await answer.json()) as { id: string; buckets?: number; detail?: string };
    return { status: answer.status, ...body };
  };

  test('has as many as it declares, and sells from them', async () => {
    const { id, ...created } = await declare({ rung, buckets: 2 });
    expect(created).toMatchObject({ status: 201, buckets: 2 });
    expect((await buy(id, '7')).httpStatus).toBe(202);
    const left = { buckets: 2, remaining: 4 };
    expect(await (await call(`/vouchers/${id}`)).json()).toMatchObject(left);
  });

  test('has as many as the deployment is configured for, when it declares none', async () => {
    expect(await declare({ rung })).toMatchObject({ buckets: 4 });
    expect(await declare({ rung: 'lua-stream' })).not.toHaveProperty('buckets');
  });

  test.each([0, 65, 1.5, '2', null])('cannot declare %j: 400', async (buckets) => {
    expect(await declare({ rung, buckets })).toMatchObject({
      status: 400,
      code: 'invalid-request',
    });
  });

  test('is refused on a rung that does not split its stock', async () => {
    const detail = 'buckets: lua-stream does not split its stock; only lua-buckets does';
    expect(await declare({ rung: 'lua-stream', buckets: 2 })).toMatchObject({
      status: 400,
      detail,
    });
  });
});

describe('the log-in of the course', () => {
  const send = async (path: string, body: object) => {
    const answer = await call(path, { method: 'POST', body });
    const given = (await answer.json()) as { code?: string; token?: string; userId?: string };
    return { ...given, status: answer.status };
  };
  const codeFor = async (phone: string) => (await send('/codes', { phone })).code ?? '';

  test('gives a phone number a token for its code, once, and it buys', async () => {
    const phone = '13800000007';
    const code = await codeFor(phone);
    const session = await send('/sessions', { phone, code });
    expect(session).toMatchObject({ status: 201, userId: phone });
    const voucherId = await putOnSale();
    const bought = await call(`/vouchers/${voucherId}/orders`, {
      ...{ method: 'POST', token: session.token ?? '' },
    });
    expect(bought.status).toBe(202);
    expect(await send('/sessions', { phone, code })).toMatchObject({ status: 401 });
  });

  test('refuses a wrong code, and that of another number; then the right one is over', async () => {
    const [one, other] = ['13800000008', '13800000009'];
    const [code, foreign] = [await codeFor(one), await codeFor(other)];
    const wrong =
      foreign === code ? String((Number(code) + 1) % 1_000_000).padStart(6, '0') : foreign;
    expect(await send('/sessions', { phone: one, code: wrong })).toMatchObject({ status: 401 });
    expect(await send('/sessions', { phone: one, code })).toMatchObject({ status: 401 });
    expect(await send('/sessions', { phone: other, code: foreign })).toMatchObject({ status: 201 });
  });

  test.each(['', '12345', '12800000007', '138000000070', '１３８００００００７０', 'x'])(
    'refuses %j, which is no mobile number',
    async (phone) => {
      expect(await send('/codes', { phone })).toMatchObject({ status: 400 });
    },
  );
});

/** What strangers send, and its exact status, is in test/security/attacks.test.ts. */
describe('input that does not fit', () => {
  test.each([
    ['no title', { title: '' }],
    ['a title with half a character', { title: 'a\ud800' }],
    ['a title that nobody sees', { title: '\u200b\u200d\ufeff' }],
    ['a rung that does not exist', { rung: 'hope' }],
    ['an end beyond what MySQL can hold', { endTime: '9999-12-31T23:59:59-23:59' }],
    ['a beginning before Christ', { beginTime: '0000-01-01T00:00:00Z' }],
  ])('a voucher with %s: 400', async (_what, changes) => {
    const answer = await create(openSale(changes));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
  });

  test.each(['application/json;', 'application/json ; charset=utf-8', 'Application/JSON'])(
    'of the type %s is JSON',
    async (type) => {
      expect((await create(openSale(), type)).status).toBe(201);
    },
  );
});

describe('every answer', () => {
  test('names the instance and the request, and all four instances answer', async () => {
    const answers = await Promise.all(Array.from({ length: 16 }, () => call('/livez')));
    expect(new Set(answers.map(({ headers }) => headers.get('x-instance')))).toEqual(
      new Set(['api-1', 'api-2', 'api-3', 'api-4']),
    );
    expect(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size).toBe(16);
    const named = await call('/livez', { headers: { 'x-request-id': 'mine' } });
    expect(named.headers.get('x-request-id')).toBe('mine');
  });

  test('for somebody else’s order and for no order is the same', async () => {
    const voucherId = await putOnSale();
    const { id } = await buy(voucherId, '7');
    const [foreign, absent] = [await get(`/orders/${id}`, '8'), await get('/orders/1', '8')];
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect(await foreign.text()).toBe(await absent.text());
  });

  test.each([
    ['DELETE', '/vouchers', 'GET, HEAD, POST'],
    ['PUT', '/vouchers/7/orders', 'POST'],
    ['GET', '/vouchers/7/orders', 'POST'],
    ['POST', '/orders/abc', 'GET, HEAD'],
    ['OPTIONS', '/livez', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
  ])('to %s %s, a method that the path does not have, is 405', async (method, path, allow) => {
    const answer = await call(path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.headers.get('x-request-id')).toBeTruthy();
    expect(await answer.json()).toMatchObject({ status: 405, code: 'method-not-allowed' });
  });

  test('to HEAD has no body', async () => {
    const answer = await call('/livez', { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  test('to an unknown path is a problem', async () => {
    expect(await (await call('/nothing')).json()).toMatchObject({ status: 404, code: 'not-found' });
  });
});

test('an operator can have a profile of a process that answers, and a user cannot', async () => {
  const profile = operate('POST', '/lab/profile?ms=300');
  expect((await post('/lab/noop', '7')).status).toBe(202);
  const [root] = CpuProfile.parse(await (await profile).json()).nodes;
  expect(root?.callFrame.functionName).toBe('(root)');
  expect((await post('/lab/profile?ms=300', '7')).status).toBe(403);
});

test('operators who ask at once get the same audit, and an unknown voucher has none', async () => {
  const voucherId = await putOnSale({ rung: 'stock-positive', stock: 1 });
  await buy(voucherId, '7');
  const audit = async () => (await operate('GET', `/vouchers/${voucherId}/audit`)).json();
  const [first, ...others] = await Promise.all([audit(), audit(), audit()]);
  expect(first).toMatchObject({
    ...{ verdict: 'held', initialStock: 1, stock: 0, orders: 1, usersWithTwoOrders: 0 },
  });
  expect(others).toEqual([first, first]);
  expect((await operate('GET', '/vouchers/999999999/audit')).status).toBe(404);
});

test('the list says what is left of a voucher that is sold in Redis, within a second', async () => {
  const [sold, other] = [await putOnSale(), await putOnSale({ rung: 'stock-positive' })];
  await buy(sold, '7');
  const inList = async (id: string) => {
    const page = (await (await call('/vouchers')).json()) as { id: string; remaining?: number }[];
    return page.find((voucher) => voucher.id === id);
  };
  await expect.poll(() => inList(sold)).toMatchObject({ remaining: 4 });
  await expect.poll(() => inList(other)).toBeDefined();
  expect(await inList(other)).not.toHaveProperty('remaining');
});

test('a purchase without a key is found by the X-Request-Id of its answer', async () => {
  const voucherId = await putOnSale({ rung: 'stock-positive' });
  const pool = testConnections().mysql();
  const odd = 'x'.repeat(65);
  const names: (string | null)[] = [];
  for (const [user, given] of [['7'], ['8', 'mine'], ['9', odd]] as const) {
    const headers = given === undefined ? {} : { 'x-request-id': given };
    const answer = await post(`/vouchers/${voucherId}/orders`, user, { headers });
    expect(answer.status).toBe(201);
    names.push(answer.headers.get('x-request-id'));
  }
  const rows = await select<{ name: string }>(
    pool,
    'SELECT request_id AS name FROM orders WHERE voucher_id = ? ORDER BY user_id',
    [voucherId],
  );
  expect(rows.map(({ name }) => name)).toEqual(names);
  expect(names.map((name) => name?.length)).toEqual([32, 'mine'.length, 32]);
  expect(names[1]).toBe('mine');
});

describe('a page of another origin', () => {
  const shop = 'https://shop.example';
  const asked = async (origins: string, init: RequestInit) => {
    const { app } = await openInstance(testConnections({ CORS_ORIGINS: origins }));
    const { status, headers } = await app.request('/vouchers/7/orders', init);
    return { status, allowed: headers.get('access-control-allow-origin'), headers };
  };
  const ask = { 'access-control-request-method': 'POST' };
  const preflight = (origin: string) => ({ method: 'OPTIONS', headers: { origin, ...ask } });

  test('may buy, and reads what a client needs, when CORS_ORIGINS names it', async () => {
    const headers = { ...ask, 'access-control-request-headers': 'authorization,idempotency-key' };
    const init = { method: 'OPTIONS', headers: { origin: shop, ...headers } };
    const first = await asked(`https://a.example,${shop}`, init);
    expect([first.status, first.allowed]).toEqual([204, shop]);
    expect(first.headers.get('access-control-allow-headers')).toContain('idempotency-key');
    const answer = await asked(shop, { method: 'POST', headers: { origin: shop } });
    expect([answer.status, answer.allowed]).toEqual([401, shop]);
    expect(answer.headers.get('access-control-expose-headers')).toMatch(/Location.*Retry-After/);
    expect(answer.headers.get('vary')).toMatch(/origin/i);
  });

  test.each([
    ['it is not in CORS_ORIGINS', 'https://shop.example:8443'],
    ['CORS_ORIGINS is empty', ''],
  ])('is told nothing when %s', async (_, origins) => {
    expect((await asked(origins, preflight(shop))).allowed).toBeNull();
    const answer = await asked(origins, { method: 'POST', headers: { origin: shop } });
    expect([answer.status, answer.allowed]).toEqual([401, null]);
  });
});

/** The programs and the answers of a page. */
const blocksIn = (section: string, kind: string): string[] =>
  [...section.matchAll(new RegExp(`\`\`\`${kind}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, text = '']) => text,
  );

test('the first sale of docs/api.md sells, and its answers are those that it shows', async () => {
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const section = page.split('## The first sale')[1]?.split('\n## ')[0] ?? '';
  const [create = '', buyIt = '', look = ''] = blocksIn(section, 'bash');
  const env = { TOKEN_SECRET: labTokenSecret };
  const tools = create
    .slice(0, create.indexOf('sent='))
    .replace(/^service=.*/m, `service=${ownLab.baseUrl}`)
    .replace(/^\. \.\/\.env.*/m, '');
  const run = async (program: string): Promise<object> =>
    JSON.parse((await execa('bash', ['-c', tools + program], { env })).stdout);
  const voucher = await run(create.slice(create.indexOf('sent=')));
  const { id } = voucher as { id: string };
  const ofVoucher = buyIt.replace('voucher=1 ', `voucher=${id} `);
  const order = await run(ofVoucher);
  const answers = [voucher, order, await run(ofVoucher.replace('first', 'second'))];
  const shown = blocksIn(section, 'json').map((text) => Object.keys(JSON.parse(text)));
  expect(answers.map(Object.keys)).toEqual(shown);
  expect(answers[2]).toMatchObject({ code: 'already-ordered', orderId: 'id' in order && order.id });
  await waitUntil('the order to be confirmed', 20_000, async () => {
    const state = await run(look.replace(/^order=\d+/, `order=${(order as { id: string }).id}`));
    return 'status' in state && state.status === 'confirmed';
  });
});

test.each([
  ['the first to refuse it', 'lua-stream', { 'x-refused-by': '-' }, '@another'],
  ['the second one', 'lua-stream', { 'x-refused-by': '- api-9' }, null],
  ['not asked through nginx', 'lua-stream', {}, null],
  ['of a rung that may have changed a store', 'redis-list', { 'x-refused-by': '-' }, null],
])(
  'an instance without Redis that is %s (%s) answers %j with the place %j',
  async (_, rung, headers, redirect) => {
    const { app, known } = await instanceWithout('Redis', { rung });
    const authorization = `Bearer ${await tokenFor('8')}`;
    const init = { method: 'POST', headers: { authorization, ...headers } };
    const answer = await app.request(`/vouchers/${known}/orders`, init);
    expect(await answer.json()).toMatchObject({ code: 'not-ready' });
    expect(answer.headers.get('x-accel-redirect')).toBe(redirect);
  },
);
