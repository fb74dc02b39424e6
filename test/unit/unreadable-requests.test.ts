/**
 * An instance that is asked directly, without nginx: what Node cannot read is answered as a problem
 * too, byte by byte on real sockets.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commonHeaders } from '../../src/service/http/headers.ts';
import { routes } from '../../src/service/http/openapi.ts';
import { problem } from '../../src/service/http/problems.ts';
import { listen } from '../../src/service/processes/api-server.ts';

let server: Server;

beforeAll(async () => {
  const app = routes();
  app.get('/livez', (c) => c.json({ status: 'ok' }));
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.onError((_, c) => problem(c, 'internal-error'));
  app.post('/slow', async (c) => {
    await sleep(100);
    return c.json({ id: '7' }, 202);
  });
  const address = { host: '127.0.0.1', port: 0, shared: false };
  server = await listen(app, address, commonHeaders('api-9'));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const common = ['x-request-id', 'x-instance', 'x-content-type-options', 'cache-control'];

/** Sends the first bytes, then the rest after the first answer, and reads until the end. */
async function raw(first: string, rest?: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => (answer += String(data)));
  socket.on('error', () => {}); // A reset after the answer: not all bytes were read.
  socket.write(first, 'latin1');
  if (rest !== undefined) {
    await once(socket, 'data');
    socket.write(rest, 'latin1');
  }
  await once(socket, 'close');
  return answer;
}

const request = (line: string, ...headers: string[]) =>
  `${[line, 'Host: a', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;

describe('a request that Node cannot read is answered as a problem:', () => {
  const unreadable = {
    'a method in small letters': request('get /livez HTTP/1.1'),
    'a path that is none': request('GET livez HTTP/1.1'),
    'a backslash in the path': request('GET /a\\b HTTP/1.1'),
    'OPTIONS *': request('OPTIONS * HTTP/1.1'),
    'no host': 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n',
    'a host that is none': 'GET / HTTP/1.1\r\nHost: a b@c\r\nConnection: close\r\n\r\n',
    'a TLS handshake': '\x16\x03\x01\x00\xa5\x01\x00\x00\r\n\r\n',
    'a length that is none': request('POST /x HTTP/1.1', 'Content-Length: x'),
  };
  const large = request('GET /livez HTTP/1.1', `X: ${'x'.repeat(20_000)}`);

  type Case = [name: string, status: number, code: string, bytes: string];
  const invalid = ([name, bytes]: [string, string]): Case => [name, 400, 'invalid-request', bytes];

  test.each<Case>([
    ...Object.entries(unreadable).map(invalid),
    ['CONNECT', 405, 'method-not-allowed', request('CONNECT a:80 HTTP/1.1')],
    ['headers of more than 16 kB', 431, 'headers-too-large', large],
    ['a method that does not exist', 501, 'not-implemented', request('BUY /livez HTTP/1.1')],
    ['another HTTP version', 505, 'unknown-http-version', request('GET /livez HTTP/1.9')],
    ['the preface of HTTP/2', 505, 'unknown-http-version', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('%s, %d', async (_, status, code, bytes) => {
    const [head = '', body = ''] = (await raw(bytes)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
    expect(head).toMatch(/^Content-Type: application\/problem\+json$/im);
    expect(head).toMatch(/^X-Request-Id: [\w-]{14,}$/im);
    expect(head).toMatch(/^X-Instance: api-9$/im);
    expect(head).toMatch(/^Cache-Control: no-store$/im);
    expect(/\r\nAllow: /.test(head)).toBe(status === 405);
    const json = body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1);
    expect(JSON.parse(json)).toMatchObject({ status, code, type: `urn:lockstep:${code}` });
  });
});

test.each([
  ['an answer', 200, request('GET /livez HTTP/1.1')],
  ['an answer to HEAD', 200, request('HEAD /livez HTTP/1.1')],
  ['the answer for a path that does not exist', 404, request('GET /nothing HTTP/1.1')],
  ['the answer to an error', 500, request('GET /broken HTTP/1.1')],
  ['the answer of the adapter', 400, request('GET /a\\b HTTP/1.1')],
])('%s has each header of every answer, once', async (_, status, bytes) => {
  const [head = ''] = (await raw(bytes)).split('\r\n\r\n');
  const names = [...head.matchAll(/^([\w-]+):/gm)].map(([, name = '']) => name.toLowerCase());
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(names).toEqual([...new Set(names)]);
  expect(names).toEqual(expect.arrayContaining(common));
});

test('a request keeps the name that it brings, if it is one; other names are all different', async () => {
  const nameOf = async (...headers: string[]) =>
    /^X-Request-Id: (.*)$/im.exec(await raw(request('GET /livez HTTP/1.1', ...headers)))?.[1];
  expect(await nameOf('X-Request-Id: mine-1_A')).toBe('mine-1_A');
  const others = ['X-Request-Id: a=b', `X-Request-Id: ${'x'.repeat(65)}`, 'X-Request-Id:', 'X: y'];
  const names = await Promise.all(others.map((header) => nameOf(header)));
  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(name).toMatch(/^[\w-]{14,64}$/);
});

test('malformed bytes behind a purchase are not answered: it may still be sold', async () => {
  const purchase = 'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n';
  expect(await raw(`${purchase}nonsense\r\n\r\n`)).toBe('');
});

test('malformed bytes after an answer are answered as a problem', async () => {
  const answer = await raw('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n', 'nonsense\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*}HTTP\/1\.1 400 /);
});

test('an expectation that nobody knows is ignored', async () => {
  expect(await raw(request('GET /livez HTTP/1.1', 'Expect: magic'))).toMatch(/^HTTP\/1\.1 200 /);
});
