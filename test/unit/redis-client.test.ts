/** Waiting for a Redis client, on a port that nobody listens on. */
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { untilAnswered, whenReady } from '../../src/service/connections/redis.ts';

const clients: Redis[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

/** It emits an error for each of its reconnects, every 10 ms. */
function deadClient(): Redis {
  const client = new Redis(1, '127.0.0.1', { retryStrategy: () => 10, enableOfflineQueue: false });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

test('a client without a server is waited for until the deadline, not until its first error', async () => {
  const startedAt = performance.now();
  await whenReady(deadClient(), 300);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
});

test('a command is tried again after each wait for the connection', async () => {
  const client = deadClient();
  let tries = 0;
  const send = () => {
    tries += 1;
    return client.ping();
  };
  const startedAt = performance.now();
  await expect(untilAnswered(client, 3, 150, send)).rejects.toThrow();
  expect(tries).toBe(3);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2 * 150);
});
