/** The load generator of an open model, against a server of its own. */
import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { lightLoad } from '../../src/lab/benchmarks/light-load.ts';
import { httpServer } from '../support/basics.ts';

const { signal } = new AbortController();

const urlOf = async (listener: RequestListener) =>
  `${(await httpServer(listener)).url}/vouchers/9/orders`;

const headersOf = (count: number) => Array.from({ length: count }, (_, index) => `Bearer ${index}`);

test('each request is sent once, with its own header, and counted by its code', async () => {
  const asked: string[] = [];
  const url = await urlOf(({ headers: { authorization = '' }, method, url: path }, response) => {
    asked.push(`${method} ${path} ${authorization}`);
    const isSold = asked.length <= 300;
    const body = isSold ? '{"id":"7"}' : '{"status":409,"code":"sold-out"}';
    response.writeHead(isSold ? 202 : 409, { 'Content-Length': body.length }).end(body);
  });
  const load = { rate: 1_000, headers: headersOf(500) };
  const { answers } = await lightLoad(url, load, signal);
  expect(answers).toEqual({ accepted: 300, 'sold-out': 200 });
  expect(new Set(asked).size).toBe(500);
  expect(asked).toContain('POST /vouchers/9/orders Bearer 499');
});

test('a server that stands still makes every request late that was due meanwhile', async () => {
  let isStanding = true;
  const held: (() => void)[] = [];
  const url = await urlOf((_, response) => {
    const answer = () => response.writeHead(202, { 'Content-Length': 2 }).end('{}');
    if (isStanding) held.push(answer);
    else answer();
  });
  const load = { rate: 1_000, headers: headersOf(1_000) };
  const loaded = lightLoad(url, load, signal);
  await expect.poll(() => held.length, { timeout: 5_000 }).toBe(256); // It has no more connections.
  isStanding = false;
  for (const answer of held) answer();
  const { answers, p99Ms } = await loaded;
  expect(answers).toEqual({ accepted: 1_000 });
  expect(p99Ms).toBeGreaterThan(200); // The first one waited until 256 were due.
});

test('a connection that is closed ends the load, and its request is not waited for', async () => {
  const url = await urlOf((_, response) => response.destroy());
  const load = { rate: 1_000, headers: headersOf(10) };
  await expect(lightLoad(url, load, signal)).rejects.toThrow('was closed');
});
