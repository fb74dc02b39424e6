/** A Redis that starts reads its whole file first, and refuses every command meanwhile. */
import type { Redis } from 'ioredis';
import { expect, test, vi } from 'vitest';
import { isOnDisk, withRedis } from '../../src/lab/environment/replication.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { readyConnections } from '../support/connections.ts';
import { startOwnRedis } from '../support/servers.ts';

/** At least 1.8 s. A busy machine lengthens each delay, so there are few, and they are long. */
const slowLoading = {
  'key-load-delay': '6000', // Microseconds.
  rdbcompression: 'no',
  // It answers LOADING to those that asked after so many bytes of its base file: sixty times.
  'loading-process-events-interval-bytes': '1024',
};
const keys = 300;
const value = 'x'.repeat(200);
const fewTries = 5;

async function filledRedis() {
  const own = await startOwnRedis(slowLoading);
  await withRedis(own.port, async (redis) => {
    const filling = redis.pipeline();
    for (let key = 0; key < keys; key++) filling.set(`key:${key}`, value);
    await filling.exec();
    await redis.bgrewriteaof(); // The keys are in the base file then.
  });
  await waitUntil('the base file', 20_000, () => isOnDisk(own.port));
  return own;
}

const rejectedPings = (commandStats: string): number =>
  Number(/^cmdstat_ping:.*\brejected_calls=(\d+)/m.exec(commandStats)?.[1]);

/**
 * How often a client asked while Redis estimated that it needs a second or more. One that waits for
 * the estimate asks two or three times then.
 */
function triesOf(redis: Redis): () => Promise<number> {
  const { results } = vi.spyOn(redis, 'info').mock;
  return async () => {
    const answers = await Promise.all(results.map(({ value }) => value));
    return answers.filter((answer) => /^loading_eta_seconds:[1-9]/m.test(String(answer))).length;
  };
}

test('a client asks a Redis that loads its data again and again, and not after its estimate', async () => {
  const own = await filledRedis();
  const connections = await readyConnections({ REDIS_URL: own.url });
  const redis = connections.redis('admin');
  await own.kill();
  const tries = triesOf(redis);
  await own.start();
  await waitUntil('the client to be ready', 20_000, () => redis.status === 'ready');
  expect(await tries()).toBeGreaterThan(fewTries);
});

test('so does the lab: it waits until a Redis that it started has loaded its data, and no longer', async () => {
  const own = await filledRedis();
  await own.kill();
  const [{ stats, asked }] = await Promise.all([
    withRedis(own.port, async (redis) => {
      const tries = triesOf(redis);
      return { stats: await redis.info('commandstats'), asked: await tries() };
    }),
    own.start(),
  ]);
  expect(asked).toBeGreaterThan(fewTries);
  // Each needs a connection of its own, so that there are fewer.
  expect(rejectedPings(stats)).toBeGreaterThan(2);
});
