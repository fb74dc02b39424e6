/** nginx with the project’s own configuration, before instances that misbehave. */
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  Agent,
  createServer,
  get,
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import {
  barePath,
  type NginxOptions,
  nginxAlonePath,
  nginxServer,
  nodePath,
} from '../../src/lab/environment/servers/nginx.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { problem } from '../../src/service/http/problems.ts';
import { askAnother } from '../../src/service/http/routes/orders.ts';
import { httpServer, someFolder } from '../support/basics.ts';
import { ownPorts, startOwn } from '../support/servers.ts';

const listening = (answer: RequestListener) =>
  httpServer((request, response) => {
    if (request.url === '/livez') response.end('{}');
    else answer(request, response);
  });

const instance = async (answer: RequestListener) => (await listening(answer)).port;
const saying = (body: string) => instance((_, response) => void response.end(body));

/** An instance, and the requests that it has seen. */
async function watched(answer: RequestListener = (_, response) => void response.end('{}')) {
  const seen: IncomingMessage[] = [];
  const port = await instance((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  return { seen, port };
}

const buy = (url: string, more: RequestInit = {}) =>
  fetch(`${url}/vouchers/1/orders`, { method: 'POST', ...more });

/** Sends bytes, and reads until the connection ends. */
async function raw(url: string, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(request, 'latin1');
  return text(socket);
}

const nginxBefore = (...upstreams: (number | string)[]): Promise<string> => nginxWith(upstreams);

async function nginxWith(
  upstreams: (number | string)[],
  options?: NginxOptions,
  edit: (text: string) => string = (text) => text,
  folder = someFolder(),
): Promise<string> {
  const port = await ownPorts(19_900);
  const server = nginxServer(folder, port, upstreams, options);
  const prepare = async () => {
    await server.prepare?.();
    const file = join(folder, 'nginx/nginx.conf');
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
  };
  await startOwn(new OwnServer({ ...server, prepare }));
  return `http://127.0.0.1:${port}`;
}

/** An instance that ends as a killed one does, and is started again at its port. */
async function killable() {
  const server = createServer((_, response) => response.end('{}'));
  const port = await ownPorts(19_960);
  const comeBack = async () => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const kill = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(() => void server.close());
  await comeBack();
  return { port, kill, comeBack };
}

/** An instance on a Unix socket, which ends as a killed one does: its file stays. */
async function socketInstance(answer: RequestListener) {
  const path = join(someFolder(), 'api.sock');
  const server = createServer(answer).listen(path);
  await once(server, 'listening');
  const kill = async () => {
    renameSync(path, `${path}.kept`);
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    renameSync(`${path}.kept`, path);
  };
  return { path, kill };
}

test('an instance on a Unix socket that was killed refuses the connection: nothing was sent', async () => {
  const killed = await socketInstance((_, response) => response.end('1'));
  const url = await nginxBefore(killed.path, await saying('2'));
  const seller = async () => (await buy(url)).text();
  expect([await seller(), await seller(), await seller()]).toContain('1');
  await killed.kill();
  for (let count = 0; count < 10; count++) expect(await seller()).toBe('2');
});

describe('nginx', () => {
  test('never sends a purchase twice when the instance vanishes, and says that the outcome is unknown', async () => {
    const vanish: RequestListener = ({ socket }) => void socket.destroy();
    const [one, two] = [await watched(vanish), await watched(vanish)];
    const answer = await buy(await nginxBefore(one.port, two.port));
    const purchases = [...one.seen, ...two.seen].map(({ headers }) => headers['x-request-id']);
    expect(purchases).toEqual([answer.headers.get('x-request-id')]);
    expect(purchases[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({ code: 'outcome-unknown' });
  });

  test.each([
    ['keeps', 'mine-1_A', 'mine-1_A'],
    ['replaces', 'a b', expect.stringMatching(/^[0-9a-f]{32}$/)],
    ['replaces', 'x'.repeat(65), expect.stringMatching(/^[0-9a-f]{32}$/)],
  ])('%s the request id %j', async (_, given, name) => {
    const { seen, port } = await watched();
    await fetch(await nginxBefore(port), { headers: { 'x-request-id': given } });
    expect(seen.map(({ headers }) => headers['x-request-id'])).toEqual([name]);
  });

  test('takes an instance for back that it took for dead, when no other is there', async () => {
    const [first, second] = [await killable(), await killable()];
    const url = await nginxBefore(first.port, second.port);
    await first.kill();
    for (let count = 0; count < 12; count++) expect((await buy(url)).status).toBe(200);
    await first.comeBack();
    await second.kill();
    for (let count = 0; count < 12; count++) expect((await buy(url)).status).toBe(200);
  });

  test('an instance that answers nothing holds 2,000 requests, and the next buyer is told at once', async () => {
    const waiting: ServerResponse[] = [];
    const url = await nginxBefore(await instance((_, response) => void waiting.push(response)));
    const agent = new Agent({ maxSockets: 2_100 });
    const buyer = () =>
      new Promise<number | undefined>((resolve) => {
        const options = { method: 'POST', agent };
        const answered = (response: IncomingMessage) => resolve(response.resume().statusCode);
        request(`${url}/vouchers/1/orders`, options, answered)
          .on('error', () => resolve(0))
          .end();
      });
    const held: Promise<number | undefined>[] = [];
    while (held.length < 2_000) {
      held.push(...Array.from({ length: 200 }, buyer)); // Node lets 511 connections wait.
      await waitUntil('these requests', 20_000, () => waiting.length === held.length, 5);
    }
    const refused = await buy(url);
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'not-ready' }]);
    expect(refused.headers.get('retry-after')).toBe('1');
    for (const response of waiting) response.end('{}');
    expect(new Set(await Promise.all(held))).toEqual(new Set([200]));
    agent.destroy();
  });

  test('requests alternate strictly between instances, whichever worker they reach', async () => {
    const upstreams = [await saying('1'), await saying('2')];
    const url = await nginxWith(upstreams, {}, (text) =>
      text
        .replace('worker_processes 1;', 'worker_processes 4;')
        .replace('backlog=4096', 'backlog=4096 reuseport')
        .replace('server_tokens off;', '$&' + ' add_header X-Worker $pid;'),
    );
    const workers = new Set<string | undefined>();
    let names = '';
    for (let count = 0; count < 40; count++) {
      const [answer] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
      workers.add(String(answer.headers['x-worker']));
      names += await text(answer);
    }
    expect(workers.size).toBeGreaterThan(1);
    expect(names).toMatch(/^1?(21)+2?$/);
  });

  describe('a purchase that an instance refused because it is not ready', () => {
    /** Refuses as the service does. @returns what it was told of earlier refusals. */
    async function cutOff(name: string) {
      const told: unknown[] = [];
      const app = new Hono().post('/vouchers/1/orders', (c) => {
        told.push(c.req.header('x-refused-by'));
        c.header('X-Instance', name);
        askAnother(c, name);
        return problem(c, 'not-ready');
      });
      return { told, port: await instance(getRequestListener(app.fetch)) };
    }

    test('is sold by another one, with its body, and each buyer is answered once', async () => {
      const { port } = await cutOff('api-1');
      const sold: string[] = [];
      const sells: RequestListener = (asked, response) =>
        void text(asked).then((body) => {
          sold.push(body);
          response.end('{}');
        });
      const url = await nginxBefore(port, await instance(sells));
      const bodies = Array.from({ length: 20 }, (_, buyer) => `{"buyer":${buyer}}`);
      for (const body of bodies) expect((await buy(url, { body })).status).toBe(200);
      expect(sold).toEqual(bodies);
    });

    test('is refused by the only instance in the end', async () => {
      const { told, port } = await cutOff('api-1');
      const answer = await buy(await nginxBefore(port));
      expect([answer.status, told.length]).toEqual([503, 5]);
    });

    test.each([
      ['refuses the connection', 'not-ready'],
      ['vanishes with it', 'outcome-unknown'],
    ])('and then the next one %s: %s', async (end, code) => {
      let asked = 0;
      const { server, port } = await listening((request, response) => {
        asked += 1;
        if (asked === 2) return void request.socket.destroy();
        if (end === 'refuses the connection') server.close();
        response.writeHead(503, { connection: 'close', 'X-Accel-Redirect': '@another' }).end();
      });
      const answer = await buy(await nginxBefore(port), { body: '{}' });
      expect(await answer.json()).toMatchObject({ code });
    });

    test('is refused when two instances refuse it: the store is away', async () => {
      const both = [await cutOff('api-1'), await cutOff('api-2')] as const;
      const url = await nginxBefore(both[0].port, both[1].port);
      const headers = { 'x-refused-by': '- a b c' };
      const answer = await buy(url, { headers });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('2');
      expect(answer.headers.get('x-accel-redirect')).toBeNull();
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(await answer.json()).toMatchObject({ code: 'not-ready' });
      const told = both.flatMap((each) => each.told).sort();
      expect(told).toEqual(['-', expect.stringMatching(/^- api-.$/)]);
    });
  });

  test('keeps the connections of a rush: the next one needs no new connection', async () => {
    const buyers = 256;
    const sockets = new Set<Socket>();
    let waiting: ServerResponse[] = [];
    const answerAllAtOnce: RequestListener = (request, response) => {
      sockets.add(request.socket);
      waiting.push(response);
      if (waiting.length < buyers) return;
      for (const each of waiting) each.end('{}');
      waiting = [];
    };
    const url = await nginxBefore(await instance(answerAllAtOnce), await instance(answerAllAtOnce));
    const buyAndRead = async () => (await buy(url)).arrayBuffer();
    const rush = () => Promise.all(Array.from({ length: buyers }, buyAndRead));
    await rush();
    expect(sockets.size).toBe(buyers);
    await rush();
    expect(sockets.size).toBe(buyers);
  });

  test('does not believe what clients say of themselves', async () => {
    const { seen, port } = await watched();
    const forged = {
      ...{ 'x-forwarded-for': '6.6.6.6', 'x-real-ip': '6.6.6.6', forwarded: 'for=6.6.6.6' },
      ...{ 'x-user-id': '1', 'x-user-role': 'operator' },
    };
    await fetch(`${await nginxBefore(port)}/orders/1`, { headers: forged });
    const [{ headers }] = seen as [IncomingMessage];
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' });
    for (const name of ['x-user-id', 'x-user-role', 'forwarded'])
      expect(headers).not.toHaveProperty(name);
  });

  test.each(['/readyz', '//readyz', '/%72eadyz', '/x/../readyz', '/readyz?a=b'])(
    'does not pass on %s, which is for those who run the service',
    async (path) => {
      const url = await nginxBefore(await saying('{}'));
      const answer = await raw(url, `GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`);
      const [, body = ''] = answer.split('\r\n\r\n');
      expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'not-found' });
    },
  );

  test('refuses large bodies and headers before an instance sees them', async () => {
    const { seen, port } = await watched();
    const url = await nginxBefore(port);
    const body = await fetch(`${url}/vouchers`, { method: 'POST', body: 'x'.repeat(20_000) });
    const header = await fetch(`${url}/vouchers`, { headers: { 'x-long': 'x'.repeat(40_000) } });
    expect([body.status, header.status, seen]).toEqual([413, 400, []]);
    expect(await body.json()).toMatchObject({ code: 'body-too-large' });
    expect(await header.json()).toMatchObject({ code: 'invalid-request' });
  });

  test.each([
    ['two hosts', 'GET /vouchers HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    ['no host', 'GET /vouchers HTTP/1.1\r\n\r\n'],
    ['a length that is none', 'POST /vouchers HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'],
    ['a method in small letters', 'get /vouchers HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a path above the root', 'GET /../livez HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an escape that is none', 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a zero byte in the path', 'GET /vouchers%00 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a path that is none', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n'],
    ['a path of 10 kB', `GET /${'x'.repeat(10_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ])('answers %s as a problem, and no instance sees it', async (_, request) => {
    const { seen, port } = await watched();
    expect(await raw(await nginxBefore(port), request)).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*"code":"invalid-request"/,
    );
    expect(seen).toEqual([]);
  });

  test('answers CONNECT as a problem: 400 from nginx 1.22, and 405 from nginx 1.30', async () => {
    const url = await nginxBefore(await saying(''));
    const answer = await raw(url, 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 40[05] [\s\S]*application\/problem\+json/);
  });

  test.each([
    ['TRACE', 405, 'TRACE /vouchers HTTP/1.1', 'method-not-allowed'],
    ['an odd transfer coding', 501, 'POST / HTTP/1.1\r\nTransfer-Encoding: x', 'not-implemented'],
    ['another HTTP version', 505, 'GET /vouchers HTTP/3.0', 'unknown-http-version'],
  ])('answers %s %d, as a problem with a request id', async (_, status, request, code) => {
    const url = await nginxBefore(await saying(''));
    const answer = await raw(url, `${request}\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain('Content-Type: application/problem+json');
    expect(answer).toContain(`"status":${status},"code":"${code}"`);
    expect(answer).toMatch(/^X-Request-Id: [0-9a-f]{32}\r$/m);
    expect(answer.includes('Allow: GET, HEAD, PATCH, POST')).toBe(status === 405);
  });

  test('passes on a request of HTTP/1.0 without a host', async () => {
    const url = await nginxBefore(await saying('here'));
    const answer = await raw(url, 'GET /vouchers HTTP/1.0\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*here$/);
  });

  test('answers a purchase not-ready, and not outcome-unknown, when nothing was sent', async () => {
    const { server, port } = await listening((_, response) => response.end('{}'));
    const url = await nginxBefore(port);
    server.closeAllConnections();
    server.close();
    for (let purchase = 0; purchase < 8; purchase++)
      expect(await (await buy(url)).json()).toMatchObject({ code: 'not-ready' });
  });
});

test('what nginx answers itself is a line of its log, and what an instance answers is none', async () => {
  const folder = someFolder();
  const answers: RequestListener = (request, response) => {
    if (request.url === '/cut') return void response.destroy();
    response.writeHead(request.url === '/refused' ? 503 : 200).end('{}');
  };
  const url = await nginxWith([await instance(answers)], undefined, undefined, folder);
  const post = (path: string) =>
    fetch(url + path, { method: 'POST', headers: { 'X-Request-Id': `name${path.slice(1)}` } });
  for (const path of ['/fine', '/refused', '/cut']) await post(path);
  expect((await fetch(`${url}/readyz`)).status).toBe(404);
  const lines = readFileSync(join(folder, 'nginx.log'), 'utf8').split('\n');
  const own = lines.filter((line) => line.includes('answered-by-nginx'));
  expect(own.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      ...{ status: 503, code: 'outcome-unknown', requestId: 'namecut', upstreamStatus: '502' },
      request: 'POST /cut HTTP/1.1',
    },
  ]);
});

describe('the limits of an address', () => {
  const byAddress = { LIMIT_BY: '$remote_network', LIMIT_RATE: '1r/m' };
  const ask = async (url: string, localAddress = '127.0.0.1') => {
    const [answer] = (await once(get(url, { localAddress, agent: false }), 'response')) as [
      IncomingMessage,
    ];
    const { statusCode: status, headers } = answer;
    return { status, retryAfter: headers['retry-after'], body: await text(answer) };
  };

  test('are so many requests: the next one is 429, no instance sees it, and other addresses go on', async () => {
    const { seen, port } = await watched();
    const limits = { ...byAddress, LIMIT_BURST: '5', LIMIT_CONNECTIONS: '100' };
    const url = await nginxWith([port], { limits });
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(url)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(24); // In a minute there is one more.
    expect(seen).toHaveLength(30 - refused.length);
    expect(refused[0]).toMatchObject({ retryAfter: '1' });
    expect(JSON.parse(refused[0]?.body ?? '')).toMatchObject({
      ...{ status: 429, code: 'too-many-requests' },
    });
    expect((await ask(url, '127.0.0.2')).status).toBe(200);
  });

  test('are those of a network of 64 bits where it has IPv6', async () => {
    const limits = { ...byAddress, LIMIT_BURST: '2', LIMIT_CONNECTIONS: '100' };
    const upstream = await saying('{}');
    // As if the address of the connection were the one that this header names.
    const trust = 'set_real_ip_from 127.0.0.1; real_ip_header X-Address;';
    const url = await nginxWith([upstream], { limits }, (text) =>
      text.replace('server_tokens off;', `server_tokens off; ${trust}`),
    );
    const statusFrom = async (address: string) =>
      (await fetch(url, { headers: { 'X-Address': address } })).status;
    const statuses: number[] = [];
    for (let host = 1; host <= 9; host++) statuses.push(await statusFrom(`2001:db8:0:1::${host}`));
    statuses.push(await statusFrom('2001:db8:0:1:a:b:c:a'));
    expect(statuses.slice(-6)).toEqual(Array(6).fill(429));
    expect(await statusFrom('2001:db8:0:2::1')).toBe(200);
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.10']) // 10 is a new line.
      expect(await statusFrom(address)).toBe(200);
    expect(await statusFrom('2001:db8:a0a:a0a::1')).toBe(200);
  });

  test('are so many requests at the same time', async () => {
    const waiting: ServerResponse[] = [];
    const hold: RequestListener = (_, response) => void waiting.push(response);
    const limits = { ...byAddress, LIMIT_BURST: '100', LIMIT_CONNECTIONS: '3' };
    const url = await nginxWith([await instance(hold)], { limits });
    const held = Array.from({ length: 3 }, () => ask(url));
    await waitUntil('three requests to be held', 20_000, () => waiting.length === 3);
    expect((await ask(url)).status).toBe(429);
    const other = ask(url, '127.0.0.2');
    await waitUntil('the other address to be there', 20_000, () => waiting.length === 4);
    for (const response of waiting) response.end('{}');
    const all = await Promise.all([...held, other]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test('are none in the lab, where all requests come from one address', async () => {
    const url = await nginxBefore(await saying('{}'));
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(url)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe('the paths of the benchmark', () => {
  const headersOf: RequestListener = (request, response) => {
    const { host: _, ...headers } = request.headers;
    response.end(JSON.stringify(headers));
  };
  const ask = async (url: string) => {
    const sent = { authorization: 'Bearer 1', 'x-user-id': '7', connection: 'keep-alive' };
    return fetch(url, { method: 'POST', headers: sent });
  };

  test('are only in the lab: nginx answers one itself, and the other is for the bare processes', async () => {
    const url = await nginxWith([await instance(headersOf)], { bare: [await instance(headersOf)] });
    expect((await ask(`${url}${nginxAlonePath}`)).status).toBe(204);
    const production = await nginxBefore(
      await instance((_, response) => void response.writeHead(404).end()),
    );
    for (const path of [nginxAlonePath, barePath, nodePath])
      expect((await ask(`${production}${path}`)).status).toBe(404);
  });

  test('reach a bare process with the same headers as an instance: the two cost nginx the same', async () => {
    const url = await nginxWith([await instance(headersOf)], { bare: [await instance(headersOf)] });
    const [bare, service] = await Promise.all([ask(`${url}${barePath}`), ask(`${url}/vouchers`)]);
    const headers = await bare.json();
    expect(headers).toMatchObject({ authorization: 'Bearer 1', 'x-forwarded-proto': 'http' });
    expect(headers).not.toHaveProperty('x-user-id');
    const named = { 'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/) };
    expect(headers).toEqual({ ...((await service.json()) as object), ...named });
  });
});
