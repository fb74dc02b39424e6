/**
 * The ZooKeeper lock on a real server: in order, never twice, and nothing left behind when answers
 * are lost.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa, execaSync } from 'execa';
import { beforeEach, expect, test } from 'vitest';
import { zookeeperLocks } from '../../src/lab/environment/locks-now.ts';
import { exists, namesIn } from '../../src/service/connections/zookeeper-nodes.ts';
import { LeaseLost, LockServiceUnavailable } from '../../src/service/errors.ts';
import { nodesOf } from '../../src/service/locks/shared/zookeeper-queue.ts';
import { held, type OpenLock, openLock } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';
import { someVoucherId } from '../support/sale.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const sessionMs = 1_500;
/** A session that does not end while a test lasts, and what is not because it ended. */
const longSession = { ZOOKEEPER_SESSION_MS: '20000' };
const soon = { waitMs: 10_000 };
const serverPort = () => Number(ownLab.environment['ZOOKEEPER_URL']?.split(':')[1]);

/** As a process of the service would have it, with a session of its own. */
const someProcess = (port = serverPort(), changes = {}): Promise<OpenLock> =>
  openLock('zookeeper', { ZOOKEEPER_URL: `127.0.0.1:${port}`, ...changes });

/** One behind a proxy, and another. */
async function twoProcesses(changes = {}) {
  const proxy = await proxyBefore(serverPort());
  const { lock } = await someProcess(proxy.port, changes);
  return { proxy, lock, other: await someProcess(serverPort(), changes) };
}

let resource: string;
beforeEach(() => {
  resource = `test-${someVoucherId()}`;
});

const foldersOf = async ({ connections }: OpenLock, part: string) => {
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
  const waiting = one.lock.acquire('seen:z', { waitMs: 20_000 });
  await expect.poll(seen).toMatchObject([
    { resource: 'seen:z', server: 'zookeeper', leftMs: null, queued: 1 },
    { resource: 'seen:a', queued: 0 },
  ]);
  await Promise.all([older.release(), younger.release()]);
  await (await waiting)?.release();
  await expect.poll(seen).toEqual([]);
});

test('waiters are served in the order of their arrival, whichever process they wait in', async () => {
  const [one, other, owner] = [await someProcess(), await someProcess(), await someProcess()];
  const lease = await held(owner.lock, resource);
  const inLine = async () => {
    const zookeeper = owner.connections.zookeeper();
    return (await zookeeperLocks(zookeeper, (name) => name === resource))[0]?.queued;
  };
  const served: number[] = [];
  const waiting: Promise<void>[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const { lock } = turn % 2 === 0 ? one : other;
    const wait = async () => {
      const next = await held(lock, resource);
      served.push(turn);
      await next.release();
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
    const { proxy, lock, other } = await twoProcesses();
    const lease = await held(lock, resource);
    const before = lease.remainingMs();
    const lostAt = once(lease.signal, 'abort').then(() => performance.now());
    proxy[how]();
    await held(other.lock, resource);
    const nextAt = performance.now();
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
    expect(lease.remainingMs()).toBe(0);
    expect(await lostAt).toBeLessThanOrEqual(nextAt);
    expect(before).toBeLessThanOrEqual(sessionMs);
    await lease.release();
    expect(await other.lock.acquire(resource, { waitMs: 0 })).toBeNull();
  },
);

test('a holder that is cut off for less than its session keeps its lease', async () => {
  const keptMs = 4_000;
  const { proxy, lock, other } = await twoProcesses({ ZOOKEEPER_SESSION_MS: String(keptMs) });
  const lease = await held(lock, resource);
  proxy.cut();
  await sleep(300);
  proxy.mend();
  await sleep(1.5 * keptMs);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.remainingMs()).toBeGreaterThan(0);
  expect(await other.lock.acquire(resource, { waitMs: 0 })).toBeNull();
  await lease.release();
  await (await held(other.lock, resource, { waitMs: 0 })).release();
});

test('a waiter that is cut off while its predecessor leaves acquires the lock once it is back', async () => {
  const { proxy, lock, other: owner } = await twoProcesses(longSession);
  const lease = await held(owner.lock, resource);
  const waiting = held(lock, resource, { waitMs: 50_000 });
  await sleep(200); // It watches the node of the owner.
  proxy.cut();
  await lease.release();
  proxy.mend();
  const mendedAt = performance.now();
  await waiting;
  expect(performance.now() - mendedAt).toBeLessThan(soon.waitMs); // By an event, not by an end.
});

test('a process whose session is over takes locks in a new one', async () => {
  const { proxy, lock } = await twoProcesses();
  const lease = await held(lock, resource);
  proxy.cut();
  await once(lease.signal, 'abort');
  await expect(lock.acquire(resource, { waitMs: 100 })).rejects.toThrow(LockServiceUnavailable);
  proxy.mend();
  await held(lock, resource);
});

test.each([
  ['the lock is free', false],
  ['another holds the lock', true],
])(
  'a node whose making was not answered while %s blocks nobody: it is found, or removed',
  async (_, taken) => {
    const { proxy, lock, other } = await twoProcesses(longSession);
    let found = 0;
    for (let round = 0; round < 10; round++) {
      const before = taken ? await held(other.lock, resource) : null;
      const waiting = lock.acquire(resource, { waitMs: 1_000 });
      proxy.swallowNextAnswer();
      await sleep(20);
      await before?.release();
      const lease = await waiting.catch((error: unknown) =>
        expect(error).toBeInstanceOf(LockServiceUnavailable),
      );
      if (lease) found += 1;
      await lease?.release();
      await (await held(other.lock, resource, soon)).release();
    }
    expect(found).toBeGreaterThan(0);
    expect(await foldersOf(other, resource)).toEqual([]);
  },
);

test('a waiter that gives up or is aborted leaves no node, even when it is not answered meanwhile', async () => {
  const { proxy, lock, other } = await twoProcesses(longSession);
  const lease = await held(other.lock, resource);
  const abort = new AbortController();
  const waits = [50, 100, 150, 10_000].map((waitMs) =>
    lock.acquire(resource, { waitMs, signal: abort.signal }).catch((reason: unknown) => reason),
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
  await (await held(other.lock, resource, soon)).release();
  await expect.poll(() => foldersOf(other, resource), { timeout: soon.waitMs }).toEqual([]);
});

test('a lease that is released while its holder is cut off is free once the connection is back', async () => {
  const { proxy, lock, other } = await twoProcesses(longSession);
  const kept = await held(lock, `${resource}-kept`);
  const lease = await held(lock, resource);
  proxy.cut();
  const releasedAt = performance.now();
  await lease.release();
  expect(performance.now() - releasedAt).toBeLessThan(soon.waitMs); // LOCK_ANSWER_MS: 500.
  proxy.mend();
  await (await held(other.lock, resource, soon)).release();
  expect(kept.signal.aborted).toBe(false);
});

test('an answer is used before a removal that arrives with it is announced', async () => {
  const { lock, connections } = await someProcess();
  await held(lock, resource);
  const session = connections.zookeeper().session();
  const folder = nodesOf(resource);
  const path = `${folder}/${(await namesIn(session, folder))[0]}`;
  const order: string[] = [];
  session.removals.once(path, () => order.push('removed'));
  const asked = exists(session, path).then((isThere) => order.push(`exists: ${isThere}`));
  const remove = `
    const client = require('node-zookeeper-client').createClient('127.0.0.1:${serverPort()}');
    client.once('connected', () => client.remove('${path}', (e) => process.exit(e ? 1 : 0)));
    client.connect();`;
  execaSync(process.execPath, ['--eval', remove]); // This process reads nothing meanwhile.
  await asked;
  await expect.poll(() => order).toEqual(['exists: true', 'removed']);
});

test('the fence grows with every lease, whichever process has it', async () => {
  const processes = [await someProcess(), await someProcess()];
  const fences: bigint[] = [];
  for (const { lock } of [...processes, ...processes]) {
    const lease = await held(lock, resource);
    fences.push(BigInt(lease.fence ?? -1));
    await lease.release();
  }
  const grows = fences.map((fence, index) => index === 0 || fence > (fences[index - 1] ?? 0n));
  expect(grows, String(fences)).toEqual([true, true, true, true]);
});

test('resources whose names share a beginning, or are no names of nodes, are apart', async () => {
  const { lock } = await someProcess();
  const names = ['user:1', 'user:10', '', '.', '..', 'a/b', 'a', 'a%2Fb', '秒杀'];
  await Promise.all(names.map((name) => held(lock, name, { waitMs: 0 })));
});

test('its package is loaded with the first session: a process with the whole ladder has none of it', async () => {
  const script = `
    const { createRequire } = await import('node:module');
    const { rungNames } = await import('./dist/service/ladder/rungs.js');
    const { cache } = createRequire(import.meta.url);
    const loaded = Object.keys(cache).filter((path) => path.includes('node-zookeeper-client'));
    console.log(rungNames.includes('zookeeper'), loaded.length);
  `;
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await execa(process.execPath, args);
  expect(stdout).toBe('true 0');
});
