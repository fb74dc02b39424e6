/**
 * Attacks on a deployment, through nginx: each gets its exact status, and changes nothing. The
 * requests are texts, as strangers send them: a client library would mend some of them.
 */
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { nginxServer } from '../../src/lab/environment/servers/nginx.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { select } from '../../src/service/connections/mysql.ts';
import { someFolder } from '../support/basics.ts';
import { call, deploymentSecret, openSale, putOnSale } from '../support/client.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { ownPorts, startOwn } from '../support/servers.ts';
import { startService } from '../support/service-process.ts';

const entry = new URL('../../dist/service/bin/service.js', import.meta.url).pathname;
const asked = { iss: 'https://issuer.example', aud: 'lockstep' };
const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;
const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

interface Signing {
  readonly header?: unknown;
  readonly key?: string;
  readonly hash?: string;
}
/** A token that is right, but for what is named. A payload that is a text is sent as it is. */
function token(
  payload: object | string = {},
  { header = { alg: 'HS256', typ: 'JWT' }, key = deploymentSecret, hash = 'sha256' }: Signing = {},
): string {
  const claims = { sub: '7', role: 'user', exp: inAnHour, ...asked };
  const body = typeof payload === 'string' ? payload : { ...claims, ...payload };
  const signed = `${encode(header)}.${encode(body)}`;
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`;
}
const operator = token({ sub: '1', role: 'operator' });
const unsigned = (header: object) => `${token({}, { header }).split('.').slice(0, 2).join('.')}.`;

interface Sent {
  readonly bearer?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}
function request(line: string, { bearer, headers = [], body }: Sent = {}): string {
  const all = [
    ...['Host: shop', 'Connection: close', ...headers],
    ...(bearer === undefined ? [] : [`Authorization: Bearer ${bearer}`]),
    ...(body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${line} HTTP/1.1\r\n${all.map((header) => `${header}\r\n`).join('')}\r\n${body ?? ''}`;
}

/** One on stores of its own, with an nginx before it. */
async function deployment() {
  const stores = await ownStores();
  const { baseUrl: ofInstance, stop } = await startService(entry, {
    ...{ ...stores, TOKEN_SECRET: deploymentSecret, USER_TRIES_PER_SECOND: '0' },
    ...{ TOKEN_ISSUER: asked.iss, TOKEN_AUDIENCE: asked.aud, TOKEN_LONGEST_SECONDS: '7200' },
  });
  onTestFinished(async () => void (await stop()));
  const nginxPort = await ownPorts(19_980);
  const nginx = nginxServer(someFolder(), nginxPort, [Number(new URL(ofInstance).port)]);
  await startOwn(new OwnServer(nginx));
  const connections = await openProcess(stores);
  return { baseUrl: `http://127.0.0.1:${nginxPort}`, nginxPort, connections };
}

/** Without a status, the connection ends without an answer. */
type Attack = readonly [what: string, status: number | null, code: string | null, request: string];

/** Sends bytes, and reads until the connection ends. @returns the statuses and the last code */
async function answerTo(port: number, attack: string) {
  const socket = connect(port, '127.0.0.1');
  socket.write(attack, 'latin1');
  const answer = await text(socket);
  const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  if (answer === '') return { statuses: [null], code: null };
  expect(answer).not.toMatch(internals);
  return { statuses, code: /"code":"([a-z-]+)"/.exec(answer)?.[1] ?? null };
}
/** What the answers of a deployment keep to themselves: stacks, statements, addresses, packages. */
const internals =
  /\.[jt]s:\d|\b(SELECT|INSERT|UPDATE) |127\.0\.0\.1|node_modules|ECONN|mysql|redis/i;

interface Sale {
  readonly id: string;
  readonly orderId: string;
  /** A voucher with a waiting room. The pass is that of user 7, who has not used it. */
  readonly line: string;
  readonly pass: string;
}

/** Plays all on one deployment, where one order is sold, and looks at the stores after each. */
async function play(attacksOn: (sale: Sale) => readonly Attack[]) {
  const { baseUrl, nginxPort, connections } = await deployment();
  const id = await putOnSale({ stock: 100 }, { baseUrl, token: operator });
  const victim = token({ sub: '1000' });
  const bought = await call(`/vouchers/${id}/orders`, { method: 'POST', token: victim, baseUrl });
  const { id: orderId } = (await bought.json()) as { id: string };
  const line = await putOnSale({ passesAtOnce: 1 }, { baseUrl, token: operator });
  const waiting = { method: 'POST', token: token(), baseUrl };
  const place = await call(`/vouchers/${line}/place`, waiting);
  const { pass } = (await place.json()) as { pass: string };
  const { saleKeys } = connections;
  const state = async () => [
    ...(await select(connections.mysql(), 'SELECT * FROM orders')),
    ...(await select(connections.mysql(), 'SELECT id, title, begin_time, end_time FROM vouchers')),
    ...(await select(connections.mysql(), 'SELECT * FROM seckill_stock')),
    ...(await select(connections.mysql(), 'SELECT * FROM voucher_changes')),
    await connections.redis('admin').hgetall(saleKeys.of(id).voucher(id)),
    await connections.redis('admin').hgetall(saleKeys.of(id).buyers(id)),
    await connections.redis('admin').hgetall(saleKeys.of(line).voucher(line)),
    await connections.redis('admin').hgetall(saleKeys.of(line).places(line)),
  ];
  await waitUntil('the order to be recorded', 20_000, async () => {
    return (await select(connections.mysql(), 'SELECT id FROM orders')).length === 1;
  });
  const before = await state();
  const attacks = attacksOn({ id, orderId, line, pass });
  for (const [what, status, code, attack] of attacks) {
    const answer = await answerTo(nginxPort, attack);
    expect([what, ...answer.statuses, answer.code]).toEqual([what, status, code]);
    expect([what, await state()]).toEqual([what, before]);
  }
  return attacks.length;
}

const buyWith = (id: string, sent: Sent) => request(`POST /vouchers/${id}/orders`, sent);

test('tokens that are forged, foreign or over', async () => {
  const refused = (what: string, id: string, bearer: string): Attack => [
    what,
    401,
    'unauthenticated',
    buyWith(id, { bearer }),
  ];
  const count = await play(({ id, orderId }) => [
    ['no token', 401, 'unauthenticated', buyWith(id, {})],
    refused('an empty one', id, ''),
    refused('no token at all', id, 'admin'),
    refused('two at once', id, `${token()} ${token()}`),
    refused('another secret', id, token({}, { key: 'another secret of thirty-two letters' })),
    refused('an empty secret', id, token({}, { key: '' })),
    refused('the lab’s secret', id, token({}, { key: 'lockstep-lab-secret-that-signs-tokens' })),
    refused('none, unsigned', id, unsigned({ alg: 'none' })),
    refused('None, unsigned', id, unsigned({ alg: 'None' })),
    refused('none, signed', id, token({}, { header: { alg: 'none' } })),
    refused('HS512', id, token({}, { header: { alg: 'HS512' }, hash: 'sha512' })),
    refused('RS256 with the secret as its key', id, token({}, { header: { alg: 'RS256' } })),
    refused('no algorithm', id, token({}, { header: {} })),
    refused('a critical extension', id, token({}, { header: { alg: 'HS256', crit: ['b64'] } })),
    refused('a header that is a list', id, token({}, { header: ['HS256'] })),
    refused('over', id, token({ exp: inAnHour - 3_700 })),
    refused('not yet valid', id, token({ nbf: inAnHour - 60 })),
    refused('valid for ever', id, token({ exp: undefined })),
    refused('valid for longer than a token may be', id, token({ exp: inAnHour + 86_400 })),
    refused('an end that is text', id, token({ exp: String(inAnHour) })),
    refused('an endless end', id, token('{"sub":"7","exp":1e999}')),
    refused('another issuer', id, token({ iss: 'https://evil.example' })),
    refused('another audience', id, token({ aud: 'shop' })),
    refused('no audience', id, token({ aud: undefined })),
    refused('no user', id, token({ sub: undefined })),
    refused('a user that is a number', id, token({ sub: 7 })),
    refused('a user with a zero before it', id, token({ sub: '007' })),
    refused('a negative user', id, token({ sub: '-7' })),
    refused('a user beyond 63 bits', id, token({ sub: '9223372036854775808' })),
    refused('SQL for a user', id, token({ sub: "7' OR '1'='1" })),
    refused('a key of Redis for a user', id, token({ sub: '7:7' })),
    refused('a role that is none', id, token({ role: 'root' })),
    refused('roles in a list', id, token({ role: ['operator'] })),
    refused('a payload that is null', id, token('null')),
    refused('a payload that is a list', id, token('[]')),
    refused('a payload that is no JSON', id, token('{"sub":"7"')),
    [
      'a token in the query',
      401,
      'unauthenticated',
      request(`POST /vouchers/${id}/orders?token=${token()}`),
    ],
    ['a cookie', 401, 'unauthenticated', buyWith(id, { headers: [`Cookie: token=${token()}`] })],
    [
      'a user who says who they are',
      401,
      'unauthenticated',
      buyWith(id, { headers: ['X-User-Id: 7', 'X-User-Role: operator'] }),
    ],
    ['Basic', 401, 'unauthenticated', buyWith(id, { headers: ['Authorization: Basic Nzo3'] })],
    ['an operator who buys', 403, 'forbidden', buyWith(id, { bearer: operator })],
    [
      'a user who creates a voucher',
      403,
      'forbidden',
      request('POST /vouchers', { bearer: token(), body: JSON.stringify(openSale()) }),
    ],
    [
      'a user who changes a voucher',
      403,
      'forbidden',
      request(`PATCH /vouchers/${id}`, { bearer: token(), body: '{"stock":1000}' }),
    ],
    [
      'a user who reads the journal',
      403,
      'forbidden',
      request(`GET /vouchers/${id}/changes`, { bearer: token() }),
    ],
    [
      'a user who asks for an audit',
      403,
      'forbidden',
      request(`GET /vouchers/${id}/audit`, { bearer: token() }),
    ],
    [
      'the order of somebody else',
      404,
      'unknown-order',
      request(`GET /orders/${orderId}`, { bearer: token() }),
    ],
    [
      'the events of somebody else’s order',
      404,
      'unknown-order',
      request(`GET /orders/${orderId}/events`, { bearer: token() }),
    ],
    [
      'the next order id',
      404,
      'unknown-order',
      request(`GET /orders/${BigInt(orderId) + 1n}`, { bearer: token({ sub: '1000' }) }),
    ],
  ]);
  expect(count).toBeGreaterThan(45);
});

test('ids that are none', async () => {
  const ids = [
    ...['0', '-1', '+1', '1.5', '1e3', '0x10', '007', '%201', '1%20', '1%00', '1%0D%0AFLUSHALL'],
    ...['9223372036854775808', '9'.repeat(400), 'NaN', 'null', '%D9%A1', '1%3BDROP', '1%7D:stock'],
    ...["1'%20OR%20'1'='1", '1,2', '__proto__', '%7B%7B7*7%7D%7D', '*'],
  ];
  await play(() =>
    ids.flatMap((id): Attack[] => [
      [`${id}: buy`, 400, 'invalid-request', buyWith(id, { bearer: token() })],
      [`${id}: look`, 400, 'invalid-request', request(`GET /vouchers/${id}`)],
      [`${id}: order`, 400, 'invalid-request', request(`GET /orders/${id}`, { bearer: token() })],
    ]),
  );
});

test('bodies that are none', async () => {
  const json = 'Content-Type: application/json';
  const create = (body: string, headers = [json]) =>
    request('POST /vouchers', { bearer: operator, headers, body });
  const sale = (changes: Readonly<Record<string, unknown>>) => JSON.stringify(openSale(changes));
  const invalid = (what: string, body: string): Attack => [
    what,
    400,
    'invalid-request',
    create(body),
  ];
  await play(({ id }) => [
    invalid('nothing', ''),
    invalid('half of it', sale({}).slice(0, 40)),
    invalid('null', 'null'),
    invalid('a list of sales', `[${sale({})}]`),
    invalid('a list in a list, 8,000 deep', '['.repeat(8_000)),
    invalid('an object in an object, 2,000 deep', '{"a":'.repeat(2_000)),
    invalid('a prototype', sale({}).replace('{', '{"__proto__":{"stock":9},')),
    invalid('a field more', sale({ price: 0 })),
    invalid('options of the lab', sale({ lab: { rails: false } })),
    invalid('a negative stock', sale({ stock: -1 })),
    invalid('half a stock', sale({ stock: 0.5 })),
    invalid('an endless stock', sale({}).replace('"stock":5', '"stock":1e999')),
    invalid('too much stock', sale({ stock: 10_000_001 })),
    invalid('a stock that is text', sale({ stock: '5' })),
    invalid('a title with a zero byte', sale({ title: 'a\u0000b' })),
    invalid('a title of 201 letters', sale({ title: 'x'.repeat(201) })),
    invalid('an end before the beginning', sale({ endTime: '2001-01-01T00:00:00Z' })),
    invalid('a time that is none', sale({ beginTime: '2026-13-01T00:00:00Z' })),
    ['another type', 415, 'unsupported-media-type', create(sale({}), ['Content-Type: text/xml'])],
    ['17 KB', 413, 'body-too-large', create(`{"title":"${'x'.repeat(17_000)}"}`)],
    [
      'a gigabyte that is announced',
      413,
      'body-too-large',
      request('POST /vouchers', {
        bearer: operator,
        headers: [json, 'Content-Length: 1073741824'],
      }),
    ],
    [
      'a key that is too long',
      400,
      'invalid-request',
      buyWith(id, { bearer: token(), headers: [`Idempotency-Key: ${'x'.repeat(256)}`] }),
    ],
    [
      'a key with a space',
      400,
      'invalid-request',
      buyWith(id, { bearer: token(), headers: ['Idempotency-Key: a b'] }),
    ],
    [
      'two keys',
      400,
      'invalid-request',
      buyWith(id, { bearer: token(), headers: ['Idempotency-Key: a', 'Idempotency-Key: b'] }),
    ],
  ]);
});

test('requests in a request, and headers that play tricks', async () => {
  const raw = (...lines: string[]) =>
    `${['', 'Host: shop', 'Connection: close'].join('\r\n')}\r\n${lines.join('\r\n')}`;
  const post = (id: string, ...lines: string[]) =>
    `POST /vouchers/${id}/orders HTTP/1.1${raw(...lines)}`;
  await play(({ id }) => {
    const inner = buyWith(id, { bearer: token() });
    return [
      [
        'a length and chunks',
        400,
        'invalid-request',
        post(id, 'Content-Length: 4', 'Transfer-Encoding: chunked', '', '0', '', inner),
      ],
      [
        'two lengths',
        400,
        'invalid-request',
        post(id, 'Content-Length: 0', `Content-Length: ${inner.length}`, '', inner),
      ],
      ['a negative length', 400, 'invalid-request', post(id, 'Content-Length: -1', '', '')],
      ['a length with a sign', 400, 'invalid-request', post(id, 'Content-Length: +0', '', '')],
      ['a length in hex', 400, 'invalid-request', post(id, 'Content-Length: 0x10', '', '')],
      [
        'an unknown coding',
        501,
        'not-implemented',
        post(id, 'Transfer-Encoding: xchunked', '', inner),
      ],
      [
        'two codings',
        501,
        'not-implemented',
        post(id, 'Transfer-Encoding: chunked, identity', '', '0', '', inner),
      ],
      [
        'a chunk that is too large',
        413,
        'body-too-large',
        post(id, 'Transfer-Encoding: chunked', '', 'FFFFFFFF', '', inner),
      ],
      ['a space before the colon', 400, 'invalid-request', post(id, 'Host : evil', '', '')],
      ['a folded header', 400, 'invalid-request', post(id, 'X-A: a', ' Host: evil', '', '')],
      ['two hosts', 400, 'invalid-request', post(id, 'Host: evil', '', '')],
      ['a host with a path', 400, 'invalid-request', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
      ['HTTP/2 without TLS', 400, 'invalid-request', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      ['TRACE', 405, 'method-not-allowed', request('TRACE /vouchers')],
      ['a header of 9 KB', 400, 'invalid-request', post(id, `X-A: ${'a'.repeat(9_000)}`, '', '')],
      ['a body that never comes', null, null, post(id, 'Content-Length: 9', '', '')],
      ['a header that never ends', null, null, `POST /vouchers/${id}/orders HTTP/1.1\r\nHost`],
    ];
  });
});

test('paths of those who run the service', async () => {
  const hidden = (path: string): Attack => [path, 404, 'not-found', request(`GET ${path}`)];
  await play(() => [
    ...['/readyz', '//readyz', '/%72eadyz', '/a/../readyz', '/readyz/', '/READYZ'].map(hidden),
    ...[
      '/metrics',
      '/lab/noop',
      '/lab/profile',
      '/lab/block-event-loop',
      '/codes',
      '/sessions',
    ].map(hidden),
    ...['/.env', '/.git/config', '/package.json', '/admin', '/debug'].map(hidden),
    ['a step above the root', 400, 'invalid-request', request('GET /../etc/passwd')],
    ['a step above it, in escapes', 400, 'invalid-request', request('GET /%2e%2e/etc/passwd')],
    ['a zero byte', 400, 'invalid-request', request('GET /vouchers%00.json')],
    ['another server', 404, 'not-found', request('GET http://evil.example/readyz')],
    ['DELETE', 405, 'method-not-allowed', request('DELETE /vouchers/1', { bearer: operator })],
    ['PUT', 405, 'method-not-allowed', request('PUT /vouchers/1', { bearer: operator })],
  ]);
});

test('places and passes of a waiting room', async () => {
  const asUser = (sub: string, headers: readonly string[] = []) => ({
    ...{ bearer: token({ sub }), headers },
  });
  const place = (id: string, sent: Sent) => request(`POST /vouchers/${id}/place`, sent);
  const count = await play(({ id, line, pass }) => {
    const [until, signature = ''] = pass.split('.');
    const refused = (what: string, given: string, sub = '7', voucher = line): Attack => [
      ...([what, 403, 'pass-required'] as const),
      buyWith(voucher, asUser(sub, [`Purchase-Pass: ${given}`])),
    ];
    return [
      ['a place without a token', 401, 'unauthenticated', place(line, {})],
      ['a place of an operator', 403, 'forbidden', place(line, { bearer: operator })],
      ['a place for a voucher without a room', 404, 'no-waiting-room', place(id, asUser('7'))],
      ['a place for no voucher', 404, 'unknown-voucher', place('999999', asUser('7'))],
      ['a place for a key of Redis', 400, 'invalid-request', place('7:places', asUser('7'))],
      ['no pass', 403, 'pass-required', buyWith(line, asUser('7'))],
      refused('an empty one', ''),
      refused('a word', 'pass'),
      refused('that of another user', pass, '8'),
      refused('one that is prolonged', `${Number(until) + 1}.${signature}`),
      refused('one that never ends', `999999999999999.${signature}`),
      refused('one that is cut', pass.slice(0, -1)),
      refused('one without a signature', `${until}.`),
      refused('a signature alone', signature),
      refused('two at once', `${pass}, ${pass}`),
      refused('a token for a pass', token()),
      [
        ...(['two headers', 403, 'pass-required'] as const),
        buyWith(line, asUser('7', [`Purchase-Pass: ${pass}`, `Purchase-Pass: ${pass}`])),
      ],
      [
        ...(['a pass in the query', 403, 'pass-required'] as const),
        request(`POST /vouchers/${line}/orders?pass=${pass}`, asUser('7')),
      ],
      [
        ...(['a pass in a cookie', 403, 'pass-required'] as const),
        buyWith(line, asUser('7', [`Cookie: Purchase-Pass=${pass}`])),
      ],
      ['a pass for a token', 401, 'unauthenticated', buyWith(line, { bearer: pass })],
    ];
  });
  expect(count).toBe(20);
});

test('a purchase that is repeated a thousand times is one order', async () => {
  const { baseUrl, connections } = await deployment();
  const id = await putOnSale({ stock: 100 }, { baseUrl, token: operator });
  const headers = { 'idempotency-key': 'replayed' };
  const buyer = token();
  const buy = async () => {
    const sent = { method: 'POST', token: buyer, headers, baseUrl };
    const answer = await call(`/vouchers/${id}/orders`, sent);
    return `${answer.status} ${((await answer.json()) as { id: string }).id}`;
  };
  const answers = new Set<string>();
  for (let round = 0; round < 20; round++)
    for (const answer of await Promise.all(Array.from({ length: 50 }, buy))) answers.add(answer);
  expect(answers.size).toBe(1);
  expect([...answers][0]).toMatch(/^202 \d+$/);
  const { saleKeys } = connections;
  const keys = saleKeys.of(id);
  expect(await connections.redis('admin').hlen(keys.buyers(id))).toBe(1);
  expect(await connections.redis('admin').hget(keys.voucher(id), 'stock')).toBe('99');
  await waitUntil('the order to be recorded', 20_000, async () => {
    const orders = await select(connections.mysql(), 'SELECT id FROM orders');
    return orders.length === 1;
  });
});
