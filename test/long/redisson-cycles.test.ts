/** The row of Redisson in `bench-locks`: a real client, and a loud word where there is none. */
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { missingForRedisson, openRedisson } from '../../src/lab/benchmarks/redisson-cycles.ts';
import { redissonClassPath } from '../redisson/redisson.ts';
import { startOwnRedis } from '../support/servers.ts';

await redissonClassPath(); // Fetches the jars, where Maven is at hand.
const missing = missingForRedisson();
if (missing !== null)
  console.warn(`REDISSON IS MISSING: its cycles are NOT TESTED. Get ${missing}`);

test.skipIf(missing !== null)(
  'each cycle of Redisson acquires and releases a lock on the Redis that is measured',
  async () => {
    const { url } = await startOwnRedis();
    const redisson = await openRedisson(url);
    onTestFinished(() => redisson.close());
    const redis = new Redis(url);
    onTestFinished(() => void redis.disconnect());
    await redis.config('RESETSTAT');
    const { cyclesPerSecond, p99Ms } = await redisson.repeat('lock:test', 300);
    const stats = await redis.info('commandstats');
    const scripts = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].map(([, calls]) =>
      Number(calls),
    );
    const calls = scripts.reduce((sum, count) => sum + count, 0);
    expect(calls % 2).toBe(0);
    expect(calls).toBeGreaterThan(2);
    expect(cyclesPerSecond * 0.3).toBeLessThanOrEqual((calls / 2) * 1.01);
    expect(p99Ms).toBeGreaterThan(0);
    expect(await redis.exists('lock:test')).toBe(0);
  },
);

test('without a JDK, it says what to get', () => {
  const path = process.env['PATH'];
  onTestFinished(() => {
    process.env['PATH'] = path;
  });
  process.env['PATH'] = '';
  expect(missingForRedisson()).toContain('a JDK');
});
