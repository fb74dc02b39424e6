/**
 * The contract of locks. A clause answers true or false, so that a lock that must fail it is tested
 * too.
 */
import { createHook } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { inject, vi } from 'vitest';
import type { Connections } from '../../src/connections/connections.ts';
import { namesIn } from '../../src/connections/zookeeper-nodes.ts';
import { LeaseLost } from '../../src/errors.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';
import { contend, contender, overlap } from '../support/contend.ts';

export interface Contestant {
  readonly name: string;
  readonly lock: Lock;
  readonly connections: Connections;
}

type Clause = (contestant: Contestant) => Promise<boolean>;

const support = (file: string) => new URL(`../support/${file}`, import.meta.url).pathname;
const someMarkedResource = () => {
  const mark = randomUUID();
  return [`test:${mark}`, mark] as const;
};
const someResource = () => someMarkedResource()[0];

async function held(lock: Lock, resource: string, leaseMs = 10_000): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs: 5_000, leaseMs });
  if (!lease) throw new Error('a free lock was not granted');
  return lease;
}

export const clauses = {
  'excludes others in the same process': async ({ lock }) => {
    const resource = someResource();
    let inside = 0;
    let most = 0;
    const enter = async () => {
      const lease = await lock.acquire(resource, { waitMs: 20_000 });
      inside += 1;
      most = Math.max(most, inside);
      await sleep(2);
      inside -= 1;
      await lease?.release();
    };
    await Promise.all(Array.from({ length: 20 }, enter));
    return most === 1;
  },

  'excludes other processes': async ({ name, lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    const other = await child('lock-holder.mjs', name, resource, '1000', '50');
    other.kill();
    await lease.release();
    return other.said === 'not in time';
  },

  'never lets critical sections of several processes overlap': async ({ name }) => {
    const resource = someResource();
    const one = contender(name, resource, 20);
    return !overlap(await contend([one, one, one]));
  },

  'answers null after the wait, and not before': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    const startedAt = performance.now();
    const none = await lock.acquire(resource, { waitMs: 150 });
    const waitedMs = performance.now() - startedAt;
    await lease.release();
    return none === null && waitedMs >= 149 && waitedMs < 500;
  },

  'tries once when the wait is 0': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    const none = await lock.acquire(resource, { waitMs: 0 });
    await lease.release();
    const free = await lock.acquire(resource, { waitMs: 0 });
    await free?.release();
    return none === null && free !== null;
  },

  'stops waiting at an early or late abort, and leaves nothing behind': async ({
    lock,
    connections,
  }) => {
    const [resource, mark] = someMarkedResource();
    const lease = await held(lock, resource);
    const reasons = await Promise.all(
      [0, 100].map((afterMs) => abortedAfter(lock, resource, afterMs)),
    );
    await lease.release();
    const next = await held(lock, resource);
    await next.release();
    return reasons.every((reason) => reason === 'enough') && (await nothingLeft(connections, mark));
  },

  'is released once, however often release is called': async ({ lock }) => {
    const resource = someResource();
    const first = await held(lock, resource);
    await first.release();
    const second = await held(lock, resource);
    await first.release();
    const third = await lock.acquire(resource, { waitMs: 0 });
    await second.release();
    return third === null;
  },

  'aborts its signal when the lease expires': async ({ lock }) => {
    const lease = await held(lock, someResource(), 200);
    const early = lease.signal.aborted || lease.remainingMs() <= 0 || lease.remainingMs() > 200;
    if (!lease.signal.aborted) await Promise.race([once(lease.signal, 'abort'), sleep(2_000)]);
    const lost = lease.signal.reason instanceof LeaseLost && lease.remainingMs() === 0;
    await lease.release();
    return !early && lost;
  },

  'does not release the next owner when it is released late': async ({ lock }) => {
    const resource = someResource();
    const late = await held(lock, resource, 100);
    const next = await lock.acquire(resource, { waitMs: 2_000 });
    await late.release();
    const third = await lock.acquire(resource, { waitMs: 0 });
    await next?.release();
    return next !== null && third === null;
  },

  'is free within the lease after its owner died': async ({ name, lock }) => {
    const resource = someResource();
    const holder = await child('lock-holder.mjs', name, resource, '700', '1000');
    return freeAgain(lock, resource, holder);
  },

  'is free after its owner died, with the default lease': async ({ name, lock }) => {
    const resource = someResource();
    const holder = await child('lock-holder.mjs', name, resource, 'default', '1000');
    return freeAgain(lock, resource, holder);
  },

  'sends nothing while it waits: the release wakes it': async ({ name, lock, connections }) => {
    const resource = someResource();
    const lease = await held(lock, resource, 30_000);
    let isWaiting = true;
    const waiting = lock.acquire(resource, { waitMs: 20_000 }).finally(() => {
      isWaiting = false;
    });
    await sleep(100); // By then it has subscribed.
    const questions = countQuestions(name, connections);
    await sleep(400); // A polling lock asks about twenty times.
    const asked = questions();
    const waited = isWaiting;
    const releasedAt = performance.now();
    await lease.release();
    await (await waiting)?.release();
    const woken = performance.now() - releasedAt < 500; // And not by a timer.
    const heartbeats = name.startsWith('zookeeper') ? 4 : 0;
    return waited && woken && asked <= heartbeats;
  },

  'leaves no key, no subscription and no timer behind after 10,000 cycles': async ({
    lock,
    connections,
  }) => {
    const mark = randomUUID();
    const timers = liveTimers();
    const cycles = async (resource: string) => {
      for (let time = 0; time < 100; time++)
        await (await lock.acquire(resource, { waitMs: 1_000 }))?.release();
    };
    // Two contenders for each of fifty resources: some cycles wait, most do not.
    const resources = Array.from({ length: 100 }, (_, index) => `test:${mark}:${index >> 1}`);
    await Promise.all(resources.map(cycles));
    const nothing = await nothingLeft(connections, mark);
    return nothing && timers.stop() < 100; // Some are the connections' own.
  },
} satisfies Record<string, Clause>;

export type ClauseName = keyof typeof clauses;

/**
 * The abort reason that a waiter throws, or an error text when it throws it only after its time is
 * over.
 */
async function abortedAfter(lock: Lock, resource: string, afterMs: number): Promise<string> {
  const abort = new AbortController();
  const waiting = lock
    .acquire(resource, { waitMs: 10_000, signal: abort.signal })
    .then((lease) => (lease ? 'granted' : 'not in time'))
    .catch((reason: unknown) => String(reason instanceof Error ? reason.message : reason));
  if (afterMs > 0) await sleep(afterMs);
  const abortedAt = performance.now();
  abort.abort(new Error('enough'));
  const said = await waiting;
  return performance.now() - abortedAt < 2_000 ? said : `${said}, too late`;
}

async function freeAgain(
  lock: Lock,
  resource: string,
  holder: { readonly kill: () => void },
): Promise<boolean> {
  const taken = (await lock.acquire(resource, { waitMs: 0 })) === null;
  holder.kill();
  const next = await lock.acquire(resource, { waitMs: 3_000 });
  await next?.release();
  return taken && next !== null;
}

/** Counts the requests that this process sends to a lock server from now on. */
function countQuestions(lock: string, connections: Connections): () => number {
  let questions = 0;
  const count = () => {
    questions += 1;
  };
  const commands = tracingChannel('ioredis:command');
  commands.start.subscribe(count);
  const session = lock.startsWith('zookeeper') ? connections.zookeeper().session() : undefined;
  const ask = session && vi.spyOn(session, 'ask');
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

/** Waits until nothing carries the mark any more; false when something still carries it. */
const nothingLeft = (connections: Connections, mark: string): Promise<boolean> =>
  waitUntil(
    'nothing to be left behind',
    1_200,
    async () => (await traces(connections, mark)) === 0,
  ).then(
    () => true,
    () => false,
  );

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

const environment = () => ({ ...process.env, ...inject('environment') }) as Record<string, string>;

/** Resolves with the first line of its output. */
async function child(
  file: string,
  ...args: readonly string[]
): Promise<{ said: string; kill: () => void }> {
  const process_ = execa('node', [support(file), ...args], { env: environment(), reject: false });
  const [line] = (await once(process_.stdout, 'data')) as [Buffer];
  return { said: String(line).trim(), kill: () => process_.kill('SIGKILL') };
}
