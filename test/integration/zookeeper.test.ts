/**
 * The ZooKeeper lock on a real server: in order, never twice, and nothing left behind when answers
 * are lost.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { namesIn } from '../../src/connections/zookeeper-nodes.ts';
import { LeaseLost, LockServiceUnavailable } from '../../src/errors.ts';
import {
  pauseWithChildren,
  startProcess,
  stopProcess,
} from '../../src/lab/environment/processes.ts';
import { zookeeperServer } from '../../src/lab/environment/servers/zookeeper.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { zookeeperLocks } from '../../src/lab/environment/zookeeper-locks.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';
import { zookeeperQueueLock } from '../../src/locks/shared/zookeeper-queue.ts';
import { patient, testConnections } from '../support/connections.ts';
import { someFolder } from '../support/folder.ts';
import { ladderLock } from '../support/ladder-lock.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownPorts } from '../support/own-ports.ts';
import { type SwallowingProxy, swallowingProxy } from '../support/swallowing-proxy.ts';

const sessionMs = 1_500;
const serverPort = () => Number(ownLab.environment['ZOOKEEPER_URL']?.split(':')[1]);

interface Process {
  readonly connections: Connections;
  readonly lock: Lock;
}

/** As a process of the service would have it, with a session of its own. */
async function someProcess(port = serverPort(), changes = {}): Promise<Process> {
  const connections = testConnections({ ZOOKEEPER_URL: `127.0.0.1:${port}`, ...changes });
  const lock = ladderLock('zookeeper', connections);
  await connections.ready();
  return { connections, lock };
}

async function behindProxy(): Promise<Process & { proxy: SwallowingProxy }> {
  const proxy = await swallowingProxy(serverPort());
  return { proxy, ...(await someProcess(proxy.port)) };
}

async function held(lock: Lock, resource: string, waitMs = 5_000): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs });
  if (!lease) throw new Error('a free lock was not to be had');
  return lease;
}

const foldersOf = async ({ connections }: Process, part: string) => {
  const folders = await namesIn(connections.zookeeper().session(), '/lockstep/locks');
  return folders.filter((name) => name.includes(part));
};

test('a lock that is held is seen with its owner and its waiters, and no more after its release', async () => {
  const [one, other] = [await someProcess(), await someProcess()];
  const seen = () =>
    zookeeperLocks(one.connections.zookeeper(), (resource) => resource.startsWith('seen:'));
  const first = await held(one.lock, 'seen:released');
  await first.release();
  const older = await held(other.lock, 'seen:z');
  const younger = await held(one.lock, 'seen:a');
  const waiting = one.lock.acquire('seen:z', { waitMs: 5_000 });
  await expect.poll(seen).toMatchObject([
    { resource: 'seen:z', server: 'zookeeper', leftMs: null, queued: 1 },
    { resource: 'seen:a', queued: 0 },
  ]);
  await Promise.all([older.release(), younger.release()]);
  await (await waiting)?.release();
  await expect.poll(seen).toEqual([]);
});

test('waiters are served in the order of their arrival, whichever process they wait in', async () => {
  const processes = [await someProcess(), await someProcess()];
  const owner = await someProcess();
  const lease = await held(owner.lock, 'in-order');
  const inLine = async () => {
    const isOurs = (resource: string) => resource === 'in-order';
    return (await zookeeperLocks(owner.connections.zookeeper(), isOurs))[0]?.queued;
  };
  const served: number[] = [];
  const waiting: Promise<void>[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const wait = async () => {
      const next = await processes[turn % 2]?.lock.acquire('in-order', { waitMs: 10_000 });
      served.push(turn);
      await next?.release();
    };
    waiting.push(wait());
    await expect.poll(inLine).toBe(turn + 1);
  }
  await lease.release();
  await Promise.all(waiting);
  expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test.each(['cut', 'hold'] as const)(
  'a holder that is out of reach (%s) is told before the next one holds',
  async (how) => {
    const { proxy, lock } = await behindProxy();
    const other = await someProcess();
    const lease = await held(lock, `out-of-reach-${how}`);
    const before = lease.remainingMs();
    const lostAt = once(lease.signal, 'abort').then(() => performance.now());
    proxy[how]();
    const cutAt = performance.now();
    const next = await held(other.lock, `out-of-reach-${how}`);
    const nextAt = performance.now();
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
    expect(lease.remainingMs()).toBe(0);
    expect(await lostAt).toBeLessThanOrEqual(nextAt);
    expect(before).toBeLessThanOrEqual(sessionMs);
    expect((await lostAt) - cutAt).toBeLessThanOrEqual(sessionMs + 100);
    await lease.release();
    expect(await other.lock.acquire(`out-of-reach-${how}`, { waitMs: 0 })).toBeNull();
    await next.release();
  },
);

test('a holder that is cut off for less than its session keeps its lease', async () => {
  const { proxy, lock } = await behindProxy();
  const other = await someProcess();
  const lease = await held(lock, 'short-cut');
  proxy.cut();
  await sleep(300);
  proxy.mend();
  await sleep(2 * sessionMs);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.remainingMs()).toBeGreaterThan(0);
  expect(await other.lock.acquire('short-cut', { waitMs: 0 })).toBeNull();
  await lease.release();
  await (await held(other.lock, 'short-cut', 0)).release();
});

test('a waiter that is cut off while its predecessor leaves acquires the lock once it is back', async () => {
  const { proxy, lock } = await behindProxy();
  const owner = await someProcess();
  const lease = await held(owner.lock, 'left-meanwhile');
  const waiting = lock.acquire('left-meanwhile', { waitMs: 20_000 });
  await sleep(200); // It watches the node of the owner.
  proxy.cut();
  await lease.release();
  proxy.mend();
  const mendedAt = performance.now();
  const next = await waiting;
  expect(next).not.toBeNull();
  expect(performance.now() - mendedAt).toBeLessThan(sessionMs); // By an event, and not by the end.
  await next?.release();
});

test('a process whose session is over takes locks in a new one', async () => {
  const { proxy, lock } = await behindProxy();
  const lease = await held(lock, 'new-session');
  proxy.cut();
  await once(lease.signal, 'abort');
  await expect(lock.acquire('new-session', { waitMs: 100 })).rejects.toThrow(
    LockServiceUnavailable,
  );
  proxy.mend();
  await (await held(lock, 'new-session')).release();
});

test.each([
  ['the lock is free', false],
  ['another holds the lock', true],
])(
  'a node whose making was not answered while %s blocks nobody: it is found, or removed',
  async (_, taken) => {
    const { proxy, lock } = await behindProxy();
    const other = await someProcess();
    let found = 0;
    for (let round = 0; round < 10; round++) {
      const before = taken ? await held(other.lock, `lost-answer-${taken}`) : null;
      const waiting = lock.acquire(`lost-answer-${taken}`, { waitMs: 1_000 });
      proxy.swallowNextAnswer();
      await sleep(20);
      await before?.release();
      const lease = await waiting.catch((error: unknown) =>
        expect(error).toBeInstanceOf(LockServiceUnavailable),
      );
      if (lease) found += 1;
      await lease?.release();
      await (await held(other.lock, `lost-answer-${taken}`, sessionMs / 2)).release();
    }
    expect(found).toBeGreaterThan(0);
    expect(await foldersOf(other, `lost-answer-${taken}`)).toEqual([]);
  },
);

test('a waiter that gives up or is aborted leaves no node, even when it is not answered meanwhile', async () => {
  const { proxy, lock } = await behindProxy();
  const other = await someProcess();
  const lease = await held(other.lock, 'given-up');
  const abort = new AbortController();
  const waits = [50, 100, 150, 10_000].map((waitMs) =>
    lock.acquire('given-up', { waitMs, signal: abort.signal }).catch((reason: unknown) => reason),
  );
  await sleep(60);
  proxy.swallowNextAnswer();
  await sleep(100);
  proxy.swallowNextAnswer();
  abort.abort(new Error('enough'));
  expect(
    (await Promise.all(waits)).filter((answer) => answer && !(answer instanceof Error)),
  ).toEqual([]);
  await lease.release();
  await (await held(other.lock, 'given-up', sessionMs / 2)).release();
  await waitUntil(
    'no folder',
    sessionMs,
    async () => (await foldersOf(other, 'given-up')).length === 0,
  );
});

test('a lease that is released while its holder is cut off is free once the connection is back', async () => {
  const { proxy, lock } = await behindProxy();
  const other = await someProcess();
  const kept = await held(lock, 'kept');
  const lease = await held(lock, 'released-while-cut');
  proxy.cut();
  const releasedAt = performance.now();
  await lease.release();
  expect(performance.now() - releasedAt).toBeLessThan(700);
  proxy.mend();
  await (await held(other.lock, 'released-while-cut', sessionMs / 2)).release();
  await sleep(sessionMs); // Not because the session ended.
  expect(kept.signal.aborted).toBe(false);
  await kept.release();
});

test('500 cycles leave no node, and the fence grows with every lease', async () => {
  const open = () => someProcess(serverPort(), patient);
  const processes = [await open(), await open()];
  const fences: bigint[] = [];
  const cycle = async ({ lock }: Process) => {
    const lease = await held(lock, 'cycles', 30_000);
    fences.push(BigInt(lease.fence ?? -1));
    await lease.release();
  };
  const cycles = async (process: Process) => {
    for (let time = 0; time < 125; time++) await cycle(process);
  };
  await Promise.all([...processes, ...processes].map(cycles));
  expect(fences).toHaveLength(500);
  expect(fences.every((fence, index) => index === 0 || fence > (fences[index - 1] ?? 0n))).toBe(
    true,
  );
  for (const process of processes) expect(await foldersOf(process, 'cycles')).toEqual([]);
});

test('resources whose names share a beginning, or are no names of nodes, are apart', async () => {
  const { lock } = await someProcess();
  const names = ['user:1', 'user:10', '', '.', '..', 'a/b', 'a', 'a%2Fb', '秒杀'];
  const leases = await Promise.all(names.map((name) => held(lock, name, 0)));
  await Promise.all(leases.map((lease) => lease.release()));
});

test('a server that is paused or stopped is LockServiceUnavailable within 2 s; one that is back gives leases again', async () => {
  const folder = someFolder();
  const server = zookeeperServer(folder, await ownPorts(20_400));
  await server.prepare?.();
  const start = async () => {
    const started = startProcess(server.program());
    onTestFinished(() => stopProcess(started));
    await waitUntil('ZooKeeper', 20_000, server.answers);
    return started;
  };
  const first = await start();
  const { lock } = await someProcess(server.port);
  await (await held(lock, 'stopped')).release();
  const refusedWithinMs = async () => {
    const askedAt = performance.now();
    await expect(lock.acquire('stopped', { waitMs: 0 })).rejects.toThrow(LockServiceUnavailable);
    return performance.now() - askedAt;
  };
  await pauseWithChildren(first);
  expect(await refusedWithinMs()).toBeLessThan(2_000);
  process.kill(first.pid, 'SIGCONT');
  await stopProcess(first);
  expect(await refusedWithinMs()).toBeLessThan(2_000);
  await start();
  await (await held(lock, 'stopped')).release();
});

test.each([
  ['that does not wait sets no watch on the node before its own', 0, 0],
  ['whose time is over looks no more', 60_000, 1],
])('a caller %s', async (_, waitMs, watches) => {
  const [{ lock }, { connections }] = [await someProcess(), await someProcess()];
  const lease = await held(lock, 'watched');
  const wait = vi.fn(async () => false); // The time is over.
  const other = zookeeperQueueLock(connections.zookeeper(), wait, {});
  expect(await other.acquire('watched', { waitMs })).toBeNull();
  expect(wait).toHaveBeenCalledTimes(watches);
  await lease.release();
});

test('its package is loaded with the first session: a process with the whole ladder has none of it', async () => {
  const script = `
    const { createRequire } = await import('node:module');
    const { rungNames } = await import('./dist/ladder/rungs.js');
    const { cache } = createRequire(import.meta.url);
    const loaded = Object.keys(cache).filter((path) => path.includes('node-zookeeper-client'));
    console.log(rungNames.includes('zookeeper'), loaded.length);
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await execa(process.execPath, args);
  expect(stdout).toBe('true 0');
});
