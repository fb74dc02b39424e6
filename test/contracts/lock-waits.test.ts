/**
 * A lock whose servers are paused or stopped: every wait ends at most one answer time late, and the
 * error names the resource. The servers are the test's own.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { OwnRedis, OwnServer } from '../../src/lab/environment/own-redis.ts';
import { zookeeperServer } from '../../src/lab/environment/servers/zookeeper.ts';
import { LockServiceUnavailable } from '../../src/service/errors.ts';
import { lockFactories } from '../../src/service/ladder/factories.ts';
import type { LockFactory } from '../../src/service/ladder/rung.ts';
import type { Lock } from '../../src/service/locks/lock.ts';
import { testConnections } from '../support/connections.ts';
import { newDataFolder } from '../support/data-home.ts';
import { someVoucherId } from '../support/sale.ts';
import { ownPorts } from '../support/servers.ts';

const answerMs = 5_000;
/** For a busy machine; a second answer time would be more. */
const toleranceMs = 4_500;

const folder = newDataFolder();
let servers: OwnServer[];
const all = (change: 'start' | 'pause' | 'resume' | 'stop' | 'end') =>
  Promise.all(servers.map((server) => server[change]()));

beforeAll(async () => {
  const port = await ownPorts(20_600, 4);
  const redis = [0, 1, 2].map(
    (n) => new OwnRedis({ folder, port: port + n, name: `redis-${n}`, fsync: 'everysec' }),
  );
  servers = [...redis, new OwnServer(zookeeperServer(folder, port + 3))];
  await all('start');
});
afterAll(async () => {
  await all('end');
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await all('resume');
  await all('start');
});

interface Opened {
  readonly name: string;
  readonly lock: Lock;
}

/** Opened while its servers answer. */
async function openLock([name, open]: [string, LockFactory]): Promise<Opened> {
  const [first, ...others] = servers.map(({ port }) => port);
  const redis = [first, ...others.slice(0, 2)].map((port) => `redis://127.0.0.1:${port}`);
  const connections = testConnections({
    REDIS_URL: redis[0] ?? '',
    REDLOCK_URLS: redis.join(','),
    ZOOKEEPER_URL: `127.0.0.1:${others[2]}`,
    LOCK_ANSWER_MS: String(answerMs),
    LOCK_LEASE_MS: '60000',
    LOCK_WATCHDOG_MS: '60000',
    ZOOKEEPER_SESSION_MS: '20000',
  });
  const lock = open(connections);
  await connections.ready();
  await (await lock.acquire(`test:${someVoucherId()}`, { waitMs: 20_000 }))?.release();
  return { name, lock };
}

/** It fails as it should, or says that the lock is taken; in time. */
async function expectInTime({ name, lock }: Opened, resource: string, waitMs: number) {
  const askedAt = performance.now();
  const answer = await lock.acquire(resource, { waitMs }).catch((error: unknown) => error);
  const lateMs = performance.now() - askedAt - waitMs;
  expect(lateMs, `milliseconds after the wait, ${name}`).toBeLessThan(answerMs + toleranceMs);
  if (answer === null) return;
  expect(answer, name).toBeInstanceOf(LockServiceUnavailable);
  expect(String(answer), name).toContain(`The lock on ${resource} is not available`);
}

const withServer = [...lockFactories()].filter(([name]) => !name.startsWith('mutex'));

test.each([
  ['paused', () => all('pause')],
  ['stopped', () => all('stop')],
])('every lock answers in time while its servers are %s', async (_, takeAway) => {
  const opened = await Promise.all(withServer.map(openLock));
  const taken = `test:${someVoucherId()}`;
  for (const { name, lock } of opened) await lock.acquire(`${taken}:${name}`, { waitMs: 20_000 });
  const waiting = opened.map((each) => expectInTime(each, `${taken}:${each.name}`, 500));
  await new Promise((resolve) => setTimeout(resolve, 100)); // By then they wait.
  await takeAway();
  const asked = opened.flatMap((each) => [
    expectInTime(each, `${taken}:${each.name}`, 100),
    expectInTime(each, `test:${someVoucherId()}`, 100),
  ]);
  await Promise.all([...waiting, ...asked]);
});
