/** An instance on a Unix socket: it takes the place of a killed one, and drains like any other. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { upstreamServers } from '../../src/lab/environment/servers/nginx.ts';
import { bareUpstreams, upstreamsOf } from '../../src/lab/environment/servers/service.ts';
import { routes } from '../../src/service/http/openapi.ts';
import { drain, listen } from '../../src/service/processes/api-server.ts';
import { someFolder } from '../support/basics.ts';

async function open(path: string) {
  const app = routes();
  app.get('/slow', async (c) => {
    await sleep(100);
    return c.json({ id: '7' });
  });
  const server = await listen(app, { path }, { 'X-Instance': 'api-9' });
  onTestFinished(() => server.closeAllConnections());
  return server;
}

async function ask(socketPath: string) {
  const sent = request({ socketPath, path: '/slow', headers: { host: 'a' } }).end();
  const [answer] = await once(sent, 'response');
  return { instance: answer.headers['x-instance'], body: await json(answer) };
}

test('a killed process leaves its socket behind, and the next one listens there', async () => {
  const path = join(someFolder(), 'api-9.sock');
  const listening = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log())`;
  const killed = spawn(process.execPath, ['--eval', listening]);
  await once(killed.stdout, 'data');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  expect(existsSync(path)).toBe(true);
  const server = await open(path);
  expect(await ask(path)).toEqual({ instance: 'api-9', body: { id: '7' } });
  await drain(server, 1_000);
});

test('a request in flight is answered before the end, and the socket is removed', async () => {
  const path = join(someFolder(), 'api-9.sock');
  const server = await open(path);
  const taken = once(server, 'request');
  const answer = ask(path);
  await taken;
  await drain(server, 5_000);
  expect((await answer).body).toEqual({ id: '7' });
  expect(existsSync(path)).toBe(false);
});

const shape = { instances: 2, balancer: 'nginx' } as const;

const sockets = ['/lab/sockets/api-1.sock', '/lab/sockets/api-2.sock'];
const cluster = { ...shape, balancer: 'cluster' } as const;
test.each([
  ['their sockets', '/lab', shape, sockets, 'unix:/lab/sockets/api-1.sock'],
  ['port when a path is too long', `/${'x'.repeat(80)}`, shape, [9_000, 9_001], '127.0.0.1:9000'],
  ['the port that all of them share', '/lab', cluster, [9_000], '127.0.0.1:9000'],
])('in the lab, nginx asks the instances by %s', (_, folder, given, upstreams, first) => {
  expect(upstreamsOf(folder, 9_000, given)).toEqual(upstreams);
  expect(upstreamServers(upstreams)).toContain(`server ${first} max_fails=3`);
});

test.each([
  ['sockets', '/lab'],
  ['ports, because the path of the lab is long', `/${'long/'.repeat(30)}`],
])('the processes that a benchmark compares with are reached in the same way: %s', (_, folder) => {
  const service = upstreamsOf(folder, 9_000, shape);
  const bare = bareUpstreams(folder, 9_000, shape);
  expect(bare.map((each) => typeof each)).toEqual(service.map((each) => typeof each));
  expect(new Set([...bare, ...service]).size).toBe(4);
});
