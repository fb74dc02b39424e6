/**
 * A lock whose servers are paused or stopped: every wait ends at most one answer time late, and the
 * error names the resource. The servers are the test's own.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isAlive, type ProcessRef } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import type { Server } from '../../src/lab/environment/servers/server.ts';
import { zookeeperServer } from '../../src/lab/environment/servers/zookeeper.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { LockServiceUnavailable } from '../../src/service/errors.ts';
import { lockFactories } from '../../src/service/ladder/factories.ts';
import type { LockFactory } from '../../src/service/ladder/rung.ts';
import type { Lock } from '../../src/service/locks/lock.ts';
import { testConnections } from '../support/connections.ts';
import { newDataFolder } from '../support/data-home.ts';
import { ownPorts } from '../support/own-ports.ts';
import { someVoucherId } from '../support/sale.ts';

const answerMs = 1_000;
/** For a busy machine; a second answer time would be more. */
const toleranceMs = 600;

const folder = newDataFolder();
let servers: Server[];
let processes: ProcessRef[];

beforeAll(async () => {
  const port = await ownPorts(20_600, 4);
  servers = [0, 1, 2].map((n) => redisServer(`redis-${n}`, folder, port + n, 'everysec'));
  servers.push(zookeeperServer(folder, port + 3));
  for (const server of servers) await server.prepare?.();
  await start();
});
afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  signal('SIGCONT');
  if (!processes.every(isAlive)) await start();
});

async function start(): Promise<void> {
  processes = servers.map((server) => startProcess(server.program()));
  for (const { name, answers } of servers) await waitUntil(name, 20_000, answers);
}

function signal(name: 'SIGCONT' | 'SIGSTOP'): void {
  for (const { pid } of processes.filter(isAlive)) process.kill(pid, name);
}

async function stop(): Promise<void> {
  signal('SIGCONT');
  await Promise.all(processes.map((each) => stopProcess(each)));
}

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
    LOCK_LEASE_MS: '30000',
    LOCK_WATCHDOG_MS: '30000',
    ZOOKEEPER_SESSION_MS: '9000',
  });
  const lock = open(connections);
  await connections.ready();
  await (await lock.acquire(`test:${someVoucherId()}`, { waitMs: 5_000 }))?.release();
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
  ['paused', async () => signal('SIGSTOP')],
  ['stopped', stop],
])('every lock answers in time while its servers are %s', async (_, takeAway) => {
  const opened = await Promise.all(withServer.map(openLock));
  const taken = `test:${someVoucherId()}`;
  for (const { name, lock } of opened) await lock.acquire(`${taken}:${name}`, { waitMs: 5_000 });
  const waiting = opened.map((each) => expectInTime(each, `${taken}:${each.name}`, 500));
  await new Promise((resolve) => setTimeout(resolve, 100)); // By then they wait.
  await takeAway();
  const asked = opened.flatMap((each) => [
    expectInTime(each, `${taken}:${each.name}`, 100),
    expectInTime(each, `test:${someVoucherId()}`, 100),
  ]);
  await Promise.all([...waiting, ...asked]);
});
