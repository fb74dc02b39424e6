/**
 * The contract of locks. A clause that does not hold fails with an AssertionError, which says what
 * was seen: so a lock that must fail it is tested too.
 */
import { AsyncResource, createHook } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { namesIn } from '../../src/service/connections/zookeeper-nodes.ts';
import { LeaseLost } from '../../src/service/errors.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import type { Lease, Lock } from '../../src/service/locks/lock.ts';
import { noLock } from '../../src/service/locks/none.ts';
import { asOneOwner } from '../../src/service/locks/shared/owner.ts';
import { patient, testConnections } from '../support/connections.ts';
import { held as heldLock, ladderLock, overlap, releasedLater } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';
import { proxyBefore, type TestProxy } from '../support/test-proxy.ts';
import type { Fate, OtherProcesses } from './other-processes.ts';

export interface Contestant {
  readonly name: string;
  readonly lock: Lock;
  readonly connections: Connections;
  /** How long a lock may take that should become free, or a key that should go. */
  readonly withinMs: number;
}

type Clause = (contestant: Contestant) => Promise<void>;

/**
 * A wait, and what is far below it. A machine that stands still for seconds takes less, and what
 * only the end of the wait or of a lease brings about takes more.
 */
const longMs = 50_000;
const soonMs = 10_000;

const someMarkedResource = () => {
  const mark = randomUUID();
  return [`test:${mark}`, mark] as const;
};
const someResource = () => someMarkedResource()[0];

/** Released when the test is over, also when a clause fails. */
const held = (lock: Lock, resource: string, leaseMs = 60_000): Promise<Lease> =>
  heldLock(lock, resource, { leaseMs });

async function expectFree(lock: Lock, resource: string, withinMs: number): Promise<void> {
  const lease = await lock.acquire(resource, { waitMs: withinMs });
  expect(lease, 'a lock that should be free').not.toBeNull();
  await lease?.release();
}

async function expectTaken(lock: Lock, resource: string): Promise<void> {
  const lease = await lock.acquire(resource, { waitMs: 0 });
  if (lease) releasedLater(lease);
  expect(lease, 'a second lease of a lock that is held').toBeNull();
}

export const clauses = {
  'excludes others in the same process': async ({ lock }) => {
    const resource = someResource();
    let inside = 0;
    let most = 0;
    const enter = async () => {
      const lease = await lock.acquire(resource, { waitMs: Number.POSITIVE_INFINITY });
      inside += 1;
      most = Math.max(most, inside);
      await sleep(2);
      inside -= 1;
      await lease?.release();
    };
    await Promise.all(Array.from({ length: 20 }, enter));
    expect(most, 'owners at the same time').toBe(1);
  },

  'answers null after the wait, and not before': async ({ lock }) => {
    const resource = someResource();
    await held(lock, resource);
    const startedAt = performance.now();
    const none = await lock.acquire(resource, { waitMs: 150 });
    const waitedMs = performance.now() - startedAt;
    if (none) releasedLater(none);
    expect(none).toBeNull();
    expect(waitedMs).toBeGreaterThanOrEqual(149);
    expect(waitedMs).toBeLessThan(soonMs);
  },

  'tries once when the wait is 0': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    await expectTaken(lock, resource);
    await lease.release();
    await expectFree(lock, resource, 0);
  },

  'stops waiting at an early or late abort, and leaves nothing behind': async ({
    lock,
    connections,
    withinMs,
  }) => {
    const [resource, mark] = someMarkedResource();
    const lease = await held(lock, resource);
    const reasons = await Promise.all(
      [0, 100].map((afterMs) => abortedAfter(lock, resource, afterMs)),
    );
    await lease.release();
    await (await held(lock, resource)).release();
    expect(reasons).toEqual(['enough', 'enough']);
    await expectNothingLeft(connections, mark, withinMs);
  },

  'is released once, however often release is called': async ({ lock }) => {
    const resource = someResource();
    const first = await held(lock, resource);
    await first.release();
    await held(lock, resource);
    await first.release();
    await expectTaken(lock, resource);
  },

  'gives each lease a larger fence than the last, if it gives any': async ({ lock }) => {
    const resource = someResource();
    const fences: (string | undefined)[] = [];
    for (let time = 0; time < 5; time++) {
      const lease = await held(lock, resource);
      fences.push(lease.fence);
      await lease.release();
    }
    if (new Set(fences).size === 1 && fences[0] === undefined) return;
    const numbers = fences.map((fence) => BigInt(fence ?? -1));
    const grows = numbers.map((fence, index) => index === 0 || fence > (numbers[index - 1] ?? 0n));
    expect(grows, String(fences)).toEqual(fences.map(() => true));
  },

  'aborts its signal when the lease expires, and names the resource': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource, 700);
    expect(lease.signal.aborted).toBe(false);
    expect(lease.remainingMs()).toBeGreaterThan(0);
    expect(lease.remainingMs()).toBeLessThanOrEqual(700);
    await Promise.race([once(lease.signal, 'abort'), sleep(3_000)]);
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost);
    expect(String(lease.signal.reason)).toContain(`The lease on ${resource} ended`);
    expect(lease.remainingMs()).toBe(0);
    expect(() => lease.assertHeld()).toThrow(LeaseLost);
  },

  'does not release the next owner when it is released late': async ({ lock, withinMs }) => {
    const resource = someResource();
    const late = await held(lock, resource, 500);
    const next = await lock.acquire(resource, { waitMs: withinMs });
    expect(next, 'a lease after the first one has expired').not.toBeNull();
    releasedLater(next as Lease);
    await late.release();
    await expectTaken(lock, resource);
  },

  'is free within the lease after a release that was lost': async ({ name, lock, withinMs }) => {
    const resource = someResource();
    const cut = await openBehindProxies(name);
    const lease = await held(cut.lock, resource, 1_000);
    for (const proxy of cut.proxies) proxy.cut();
    const released = lease.release().catch(() => {});
    for (const proxy of cut.proxies) proxy.mend();
    await released;
    await expectFree(lock, resource, 2 * withinMs);
  },

  'is free before the lease ends when the answer to its grant was lost': async ({
    name,
    lock,
    withinMs,
  }) => {
    const resource = someResource();
    const cut = await openBehindProxies(name);
    await (await held(cut.lock, someResource())).release(); // Its scripts are known now.
    for (const proxy of cut.proxies) proxy.swallowNextAnswer();
    const lease = await cut.lock
      .acquire(resource, { waitMs: 0, leaseMs: 60_000 })
      .catch(() => null);
    await lease?.release();
    await expectFree(lock, resource, withinMs);
  },

  'sends nothing while it waits: the release wakes it': async ({ name, lock, connections }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    let isWaiting = true;
    const waiting = lock.acquire(resource, { waitMs: longMs }).finally(() => {
      isWaiting = false;
    });
    await sleep(500); // By then it has subscribed, or while the first quiet is looked for.
    const heartbeats = name.startsWith('zookeeper') ? 4 : 0;
    const isQuiet = async () => (await askedIn(400, name, connections)) <= heartbeats;
    const sendsNothing = (await isQuiet()) || (await isQuiet());
    const waited = isWaiting;
    const releasedAt = performance.now();
    await lease.release();
    await (await waiting)?.release();
    const wokenAfterMs = performance.now() - releasedAt;
    expect(waited).toBe(true);
    expect(wokenAfterMs, 'woken by the release, and not by a timer').toBeLessThan(soonMs);
    expect(sendsNothing, 'requests while it waits').toBe(true);
  },

  'leaves no key, no subscription and no timer behind after 800 cycles': async ({
    name,
    withinMs,
  }) => {
    const leases = { LOCK_LEASE_MS: '60000', LOCK_WATCHDOG_MS: '60000' }; // None ends by itself.
    const connections = testConnections({ ...patient, ...leases });
    const lock = openNamed(name, connections);
    connections.redis('admin');
    connections.zookeeper();
    connections.redlockMasters();
    await connections.ready();
    const mark = randomUUID();
    const timers = liveTimers();
    const cycles = async (resource: string) => {
      for (let time = 0; time < 8; time++)
        await (await lock.acquire(resource, { waitMs: 1_000 }))?.release();
    };
    // Two contenders for each of fifty resources: some cycles wait, most do not.
    const resources = Array.from({ length: 100 }, (_, index) => `test:${mark}:${index >> 1}`);
    await Promise.all(resources.map(cycles));
    await expectNothingLeft(connections, mark, withinMs);
    expect(timers.stop()).toBeLessThan(100); // Some are the connections' own.
  },
} satisfies Record<string, Clause>;

/** What a lock promises to other processes, which contended for all locks at once. */
export const processClauses = {
  'excludes other processes': async (name, { answers }) =>
    expect((await answers()).get(name)).toBe('not in time'),

  'never lets critical sections of several processes overlap': async (name, { sections }) =>
    expect(overlap((await sections()).filter(({ lock }) => lock === name))).toBe(false),

  'is free within its own short lease after its owner died': async (name, { afterShortLease }) =>
    expectFreed((await afterShortLease()).get(name)),

  'is free after its owner died, with the default lease': async (name, { afterDefaultLease }) =>
    expectFreed((await afterDefaultLease()).get(name)),
} satisfies Record<string, (name: string, processes: OtherProcesses) => Promise<void>>;

const expectFreed = (fate: Fate | undefined) =>
  expect(fate).toEqual({ said: 'held', isTaken: true, isFreeLater: true });

/** What a lock with `reentrant: true` promises beside the rest. */
export const reentrantClauses = {
  'is granted to its owner again, and free after as many releases': ({ lock }) =>
    asOneOwner(async () => {
      const resource = someResource();
      const leases = [await held(lock, resource), await held(lock, resource)];
      for (const lease of leases) {
        await expectTaken(byAnother(lock), resource);
        await lease.release();
      }
      await expectFree(byAnother(lock), resource, 0);
    }),

  'grants every wait of one owner when it is free': async ({ lock }) => {
    const resource = someResource();
    const other = await asOneOwner(() => held(lock, resource));
    const waiting = asOneOwner(() =>
      Promise.all([1, 2, 3].map(() => lock.acquire(resource, { waitMs: longMs }))),
    );
    await sleep(200); // By then the first of them waits.
    const releasedAt = performance.now();
    await other.release();
    const leases = await waiting;
    expect(performance.now() - releasedAt, 'milliseconds after the release').toBeLessThan(soonMs);
    expect(leases).not.toContain(null);
    for (const lease of leases) await lease?.release();
    await expectFree(lock, resource, 0);
  },

  'ends a short wait in time beside a longer one of its owner': async ({ lock }) => {
    const resource = someResource();
    const other = await asOneOwner(() => held(lock, resource));
    await asOneOwner(async () => {
      const long = lock.acquire(resource, { waitMs: longMs });
      const askedAt = performance.now();
      expect(await lock.acquire(resource, { waitMs: 0 })).toBeNull();
      expect(await lock.acquire(resource, { waitMs: 100 })).toBeNull();
      expect(performance.now() - askedAt, 'milliseconds for both').toBeLessThan(soonMs);
      await other.release();
      const lease = await long;
      expect(lease).not.toBeNull();
      await lease?.release();
    });
  },

  'is acquired anew by an owner that has released it': ({ lock }) =>
    asOneOwner(async () => {
      const resource = someResource();
      await (await held(lock, resource)).release();
      const again = await held(lock, resource);
      await expectTaken(byAnother(lock), resource);
      await again.release();
      await expectFree(byAnother(lock), resource, 0);
    }),

  'counts a release once: an inner lease takes nothing more from the outer one': ({ lock }) =>
    asOneOwner(async () => {
      const resource = someResource();
      const outer = await held(lock, resource, 5_000);
      const inner = await held(lock, resource);
      await inner.release();
      await inner.release();
      await expectTaken(byAnother(lock), resource);
      expect(outer.signal.aborted).toBe(false);
      await outer.release();
      await expectFree(byAnother(lock), resource, 0);
    }),

  'is free after the last release, also when the outer lease is released first': ({ lock }) =>
    asOneOwner(async () => {
      const resource = someResource();
      const outer = await held(lock, resource, 5_000);
      const inner = await held(lock, resource, 200);
      await outer.release();
      await expectTaken(byAnother(lock), resource);
      await sleep(300); // Longer than the inner one asked for: they share one lease.
      expect(inner.signal.aborted).toBe(false);
      await inner.release();
      await expectFree(byAnother(lock), resource, 0);
    }),
} satisfies Record<string, Clause>;

export type ClauseName = keyof typeof clauses | keyof typeof processClauses;

/**
 * The abort reason that a waiter throws, or an error text when it throws it only after its time is
 * over.
 */
async function abortedAfter(lock: Lock, resource: string, afterMs: number): Promise<string> {
  const abort = new AbortController();
  const waiting = lock
    .acquire(resource, { waitMs: longMs, signal: abort.signal })
    .then((lease) => (lease ? 'granted' : 'not in time'))
    .catch((reason: unknown) => String(reason instanceof Error ? reason.message : reason));
  if (afterMs > 0) await sleep(afterMs);
  const abortedAt = performance.now();
  abort.abort(new Error('enough'));
  const said = await waiting;
  return performance.now() - abortedAt < soonMs ? said : `${said}, too late`;
}

const outside = new AsyncResource('outside of every owner');

/** The same lock, acquired by another owner than the one whose context this is. */
const byAnother = (lock: Lock): Lock => ({
  acquire: (...args) => outside.runInAsyncScope(lock.acquire, lock, ...args),
});

const openNamed = (name: string, connections: Connections): Lock =>
  name === 'none' ? noLock() : ladderLock(name as RungName, connections);

/** The same lock, with a proxy before each of its servers. */
async function openBehindProxies(name: string): Promise<{ lock: Lock; proxies: TestProxy[] }> {
  const proxies: TestProxy[] = [];
  const proxied = async (address: string) => {
    const proxy = await proxyBefore(Number(/:(\d+)/.exec(address)?.[1]));
    proxies.push(proxy);
    return address.replace(/:\d+/, `:${proxy.port}`);
  };
  const changes: Record<string, string> = {};
  for (const server of ['REDIS_URL', 'REDLOCK_URLS', 'ZOOKEEPER_URL']) {
    const addresses = (environment()[server] ?? '').split(',');
    changes[server] = (await Promise.all(addresses.map(proxied))).join(',');
  }
  const connections = testConnections(changes);
  const lock = openNamed(name, connections);
  await connections.ready();
  return { lock, proxies };
}

/** How many requests this process sends to a lock server in so many milliseconds from now on. */
async function askedIn(ms: number, lock: string, connections: Connections): Promise<number> {
  const questions = countQuestions(lock, connections);
  await sleep(ms); // A polling lock asks about twenty times in 400.
  return questions();
}

function countQuestions(lock: string, connections: Connections): () => number {
  let questions = 0;
  const count = (context: unknown) => {
    // A subscriber asks whether its connection is alive: no question about a lock.
    if ((context as { command?: string }).command !== 'ping') questions += 1;
  };
  const commands = tracingChannel('ioredis:command');
  commands.start.subscribe(count);
  const session = lock.startsWith('zookeeper') ? connections.zookeeper().session() : undefined;
  const ask = session && vi.spyOn(session, 'ask').mockClear(); // All locks share one session.
  return () => {
    commands.start.unsubscribe(count);
    return questions + (ask?.mock.calls.length ?? 0);
  };
}

/** Counts the timers made from now on that have neither run nor been cleared. */
function liveTimers(): { readonly stop: () => number } {
  const live = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && live.add(id)),
    destroy: (id) => void live.delete(id),
  }).enable();
  return {
    stop: () => {
      hook.disable();
      return live.size;
    },
  };
}

/** Waits until nothing carries the mark any more. */
async function expectNothingLeft(
  connections: Connections,
  mark: string,
  withinMs: number,
): Promise<void> {
  const isGone = async () => (await traces(connections, mark)) === 0;
  await waitUntil('nothing to be left behind', withinMs, isGone).catch(() => {});
  expect(await traces(connections, mark), 'keys, subscriptions and nodes left').toBe(0);
}

/** Keys, subscriptions and nodes that carry the mark. */
async function traces(connections: Connections, mark: string): Promise<number> {
  const servers = [connections.redis('admin'), ...connections.redlockMasters()];
  const counts = servers.map(async (redis) => {
    const [channels, [, keys]] = await Promise.all([
      redis.pubsub('CHANNELS', `*${mark}*`) as Promise<string[]>,
      redis.scan('0', 'MATCH', `*${mark}*`, 'COUNT', 1_000_000),
    ]);
    return channels.length + keys.length;
  });
  const nodes = await namesIn(connections.zookeeper().session(), '/lockstep/locks');
  const inRedis = await Promise.all(counts);
  return (
    inRedis.reduce((sum, count) => sum + count, 0) +
    nodes.filter((name) => name.includes(mark)).length
  );
}

const environment = () => ({ ...process.env, ...ownLab.environment }) as Record<string, string>;
