/** A Redis that starts reads its whole file first, and refuses every command meanwhile. */
import { expect, test } from 'vitest';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { testConnections } from '../support/connections.ts';
import { startOwnRedis } from '../support/own-redis.ts';

/** At least 1.2 s. After each 1,024 keys it answers LOADING to those that asked: eleven times. */
const slowLoading = { 'key-load-delay': '100' }; // Microseconds for each key.
const keys = 12_000;
/** The tries of a client that waits for what Redis estimates, in whole seconds: 2 or 3. */
const fewTries = 5;

async function filledRedis() {
  const own = await startOwnRedis(slowLoading);
  const port = Number(new URL(own.url).port);
  await withRedis(port, async (redis) => {
    const filling = redis.pipeline();
    for (let key = 0; key < keys; key++) filling.set(`key:${key}`, 'x');
    await filling.exec();
  });
  return { ...own, port };
}

/** @param count `calls`, or `rejected_calls` */
const countOf = (commandStats: string, command: string, count: string): number =>
  Number(new RegExp(`^cmdstat_${command}:.*\\b${count}=(\\d+)`, 'm').exec(commandStats)?.[1]);

test('a client asks a Redis that loads its data again and again, and not after its estimate', async () => {
  const own = await filledRedis();
  const connections = testConnections({ REDIS_URL: own.url, ORDER_DURABILITY: 'everysec' });
  const redis = connections.redis('admin');
  await connections.ready();
  await own.kill();
  await own.start();
  await waitUntil('the client to be ready', 20_000, () => redis.status === 'ready');
  expect(countOf(await redis.info('commandstats'), 'info', 'calls')).toBeGreaterThan(fewTries);
});

test('so does the lab: it waits until a Redis that it started has loaded its data, and no longer', async () => {
  const own = await filledRedis();
  await own.kill();
  const [stats] = await Promise.all([
    withRedis(own.port, (redis) => redis.info('commandstats')),
    own.start(),
  ]);
  expect(countOf(stats, 'info', 'calls')).toBeGreaterThan(fewTries);
  // Each needs a connection of its own, so that there are fewer.
  expect(countOf(stats, 'ping', 'rejected_calls')).toBeGreaterThan(2);
});
