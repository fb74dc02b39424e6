/**
 * Order ids of many processes on a real Redis: unique, ascending, and refused rather than risked.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { openRedisWorker } from '../../src/service/order-ids/redis-worker.ts';
import {
  openSnowflakes,
  type SnowflakeOptions,
  workerIds,
  workerIdsKey,
} from '../../src/service/order-ids/snowflake.ts';
import {
  firstOutOfOrder,
  listeningLog,
  setClock,
  someFolder,
  withCode,
} from '../support/basics.ts';
import { quiet, quietRedis, readyConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const processes = 8;
const start = Date.UTC(2026, 10, 20, 12);
const maker = new URL('order-id-maker.mjs', import.meta.url).pathname;

let connections: Connections;
beforeEach(async () => {
  connections = await readyConnections({ REDIS_URL: quietRedis() }, 'purchase');
  await connections.redis('admin').del(workerIdsKey);
});

const admin = () => connections.redis('admin');
const workerOf = (id: bigint | string): number => Number((BigInt(id) >> 12n) & 1023n);

async function snowflakeMaker(options: SnowflakeOptions = {}, log = quiet) {
  const ids = await openSnowflakes(admin(), log, options);
  onTestFinished(() => ids.close());
  return ids;
}

/** What each of eight processes made, in order. */
async function madeByProcesses(
  orderIds: string,
  each: number,
  atOnce: number,
): Promise<BigUint64Array[]> {
  const folder = someFolder();
  const env = { ...ownLab.environment, REDIS_URL: quietRedis(), ORDER_IDS: orderIds };
  const making = Array.from({ length: processes }, async (_, index) => {
    const file = join(folder, String(index));
    await execa('node', [maker, String(each), String(atOnce), file], { env });
    return new BigUint64Array(new Uint8Array(readFileSync(file)).buffer);
  });
  return Promise.all(making);
}

function expectUniqueAndAscending(made: readonly BigUint64Array[], each: number): void {
  for (const ids of made) {
    expect(ids.length).toBe(each);
    expect(ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? id))).toBe(-1);
  }
  const all = new BigUint64Array(processes * each);
  for (const [index, ids] of made.entries()) all.set(ids, index * each);
  all.sort();
  expect(all.findIndex((id, index) => index > 0 && id === all[index - 1])).toBe(-1);
}

describe('snowflakes', () => {
  test('of eight processes, a million, are all different, and each process’s ascend', async () => {
    const made = await madeByProcesses('snowflake', 125_000, 1_000);
    expectUniqueAndAscending(made, 125_000);
    const workers = made.map((ids) => new Set([...ids].map(workerOf)));
    for (const ofOneProcess of workers) expect(ofOneProcess.size).toBe(1);
    expect(new Set(workers.flatMap((ofOneProcess) => [...ofOneProcess])).size).toBe(processes);
  });

  test('of a worker id begin where its earlier holder can no more make any, though the clock is behind', async () => {
    const ahead = await snowflakeMaker({ stretchMs: 10_000, now: () => start + 9_000 });
    const earlier = await ahead.next();
    await leaveOnly(workerOf(earlier), `${start + 19_000}:somebody`);
    const [late, inTime] = [start + 18_999, start + 19_000];
    await expect(snowflakeMaker({ now: () => late })).rejects.toThrow(
      withCode('WORKER_ID_UNAVAILABLE'),
    );
    const later = await (await snowflakeMaker({ now: () => inTime })).next();
    expect(workerOf(later)).toBe(workerOf(earlier));
    expect(firstOutOfOrder([earlier, later])).toBeUndefined();
  });

  test('stop with the worker id that somebody took over, and go on with another as soon as there is one', async () => {
    const { log, events } = listeningLog();
    const ids = await snowflakeMaker({ stretchMs: 2_000 }, log);
    const before = await ids.next();
    await leaveOnly(-1, '');
    await waitUntil('the loss to be noticed', 20_000, () =>
      events.includes('worker-id-taken-over'),
    );
    expect(() => ids.next()).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
    const free = (workerOf(before) + 1) % workerIds;
    await admin().hdel(workerIdsKey, String(free));
    await waitUntil('another worker id', 20_000, () => ids.next() !== '');
    const after = await ids.next();
    expect(workerOf(after)).toBe(free);
    expect(firstOutOfOrder([before, after])).toBeUndefined();
  });

  test('stop when the lease cannot be renewed, and go on when Redis is back', async () => {
    const ids = await snowflakeMaker({ stretchMs: 2_000 });
    const before = await ids.next();
    admin().disconnect();
    await sleep(2_000);
    expect(() => ids.next()).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
    await admin().connect();
    await waitUntil('a renewal', 20_000, () => ids.next() !== '');
    const after = await ids.next();
    expect(workerOf(after)).toBe(workerOf(before));
    expect(firstOutOfOrder([before, after])).toBeUndefined();
  });

  test('keep both ends of what is reserved when they are renewed under a clock that stepped back', async () => {
    const clock = setClock(start);
    const ids = await snowflakeMaker({ stretchMs: 60, now: clock.now });
    clock.step(-2_000);
    await sleep(50); // Some renewals.
    expect(await admin().hvals(workerIdsKey)).toEqual([expect.stringMatching(`^${start + 60}:`)]);
    expect(Number(BigInt(await ids.next()) >> 22n)).toBe(start - Date.UTC(2026, 0));
  });

  /** Every other worker id is somebody else's for the next hour; this one is as said. */
  async function leaveOnly(workerId: number, value: string): Promise<void> {
    const endMs = Math.max(start, Date.now()) + 3_600_000;
    const others = Array.from({ length: workerIds }, (_, id) => [String(id), `${endMs}:others`]);
    await admin().hset(workerIdsKey, Object.fromEntries(others));
    if (workerId >= 0) await admin().hset(workerIdsKey, String(workerId), value);
  }
});

describe('ids of the Redis worker', () => {
  test('of eight processes, 80,000, are all different, and each process’s ascend', async () => {
    expectUniqueAndAscending(await madeByProcesses('redis-worker', 10_000, 500), 10_000);
  });

  test('are counted anew each day, by a counter that is gone two days later', async () => {
    const midnight = Date.UTC(2030, 5, 2);
    const keys = ['lockstep:order-ids:2030:06:01', 'lockstep:order-ids:2030:06:02'] as const;
    await admin().del(...keys);
    let readings = 0;
    // Were it read twice for an id, id and key would be of two days.
    const now = () => midnight - 1 + readings++;
    const ids = openRedisWorker(connections.redis('purchase'), quiet, now);
    const made = [await ids.next(), await ids.next(), await ids.next()].map(BigInt);
    expect(made.map((id) => id & 0xffffffffn)).toEqual([1n, 1n, 2n]);
    const lastSecond = BigInt(midnight - Date.UTC(2022, 0)) / 1_000n - 1n;
    expect(made.map((id) => (id >> 32n) - lastSecond)).toEqual([0n, 1n, 1n]);
    for (const key of keys) expect(await admin().ttl(key)).toBeGreaterThan(2 * 24 * 3_600 - 10);
  });

  test('skip the count whose answer was lost, and say so once', async () => {
    const proxy = await proxyBefore(quietRedis());
    const { log, events } = listeningLog();
    const behindProxy = await readyConnections({ REDIS_URL: proxy.url }, 'purchase');
    const redis = behindProxy.redis('purchase');
    const ids = openRedisWorker(redis, log);
    const before = BigInt(await ids.next());
    proxy.swallowNextAnswer();
    await expect(ids.next()).rejects.toThrow(withCode('ORDER_ID_NOT_COUNTED'));
    await expect(ids.next()).rejects.toThrow(withCode('ORDER_ID_NOT_COUNTED'));
    expect(events).toEqual(['order-ids-not-counted']);
    await waitUntil('the client to reconnect', 20_000, () => redis.status === 'ready');
    const after = BigInt(await ids.next());
    expect((after & 0xffffffffn) - (before & 0xffffffffn)).toBe(2n);
    expect(events).toEqual(['order-ids-not-counted', 'order-ids-counted-again']);
  });
});
