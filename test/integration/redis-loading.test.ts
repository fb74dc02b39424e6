/** A Redis that starts reads its whole file first, and refuses every command meanwhile. */
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { testConnections } from '../support/connections.ts';
import { startOwnRedis } from '../support/own-redis.ts';

const slowLoading = {
  'key-load-delay': '100', // Microseconds for each key. It answers LOADING after each 1,024.
};
const keys = 20_000;

test('a client asks a Redis that loads its data again and again, and not after its estimate', async () => {
  const own = await startOwnRedis(slowLoading);
  const connections = testConnections({ REDIS_URL: own.url, ORDER_DURABILITY: 'everysec' });
  const redis = connections.redis('admin');
  await connections.ready();
  const filling = redis.pipeline();
  for (let key = 0; key < keys; key++) filling.set(`key:${key}`, 'x');
  await filling.exec();
  await own.kill();
  await own.start();
  await waitUntil('the client to be ready', 20_000, () => redis.status === 'ready');
  const asked = /cmdstat_info:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1];
  expect(Number(asked)).toBeGreaterThan(8); // After an estimate of whole seconds: 2 or 3.
});
