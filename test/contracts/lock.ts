/** What every lock must do. A clause answers true or false, so that a lock that must fail it is tested too. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { inject } from 'vitest';
import { LeaseLost } from '../../src/errors.ts';
import type { Lease, Lock } from '../../src/locks/lock.ts';

export interface Contestant {
  readonly name: string;
  readonly lock: Lock;
}

type Clause = (contestant: Contestant) => Promise<boolean>;

const support = (file: string) => new URL(`../support/${file}`, import.meta.url).pathname;
const someResource = () => `test:${randomUUID()}`;

async function held(lock: Lock, resource: string, leaseMs = 10_000): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs: 5_000, leaseMs });
  if (!lease) throw new Error('a free lock was not to be had');
  return lease;
}

export const clauses = {
  'excludes others in the same process': async ({ lock }) => {
    const resource = someResource();
    let [inside, most] = [0, 0];
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
    const contend = () =>
      execa('node', [support('lock-contender.mjs'), name, resource, '15'], { env: environment() });
    const outputs = await Promise.all([contend(), contend(), contend()]);
    const sections = outputs.flatMap(({ stdout }) =>
      stdout.split('\n').map((line) => line.split(' ').map(BigInt)),
    );
    sections.sort(([a = 0n], [b = 0n]) => (a < b ? -1 : 1));
    return sections.every(([start = 0n], index) => start >= (sections[index - 1]?.[1] ?? 0n));
  },

  'answers null after the wait, and not before': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    const startedAt = performance.now();
    const none = await lock.acquire(resource, { waitMs: 150 });
    const waitedMs = performance.now() - startedAt;
    await lease.release();
    return none === null && waitedMs >= 149;
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

  'stops waiting when it is aborted, and leaves nothing behind': async ({ lock }) => {
    const resource = someResource();
    const lease = await held(lock, resource);
    const abort = new AbortController();
    const waiting = lock
      .acquire(resource, { waitMs: 10_000, signal: abort.signal })
      .catch((reason: unknown) => reason);
    abort.abort(new Error('enough'));
    const reason = await waiting;
    await lease.release();
    const next = await held(lock, resource);
    await next.release();
    return reason instanceof Error && reason.message === 'enough';
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

  'tells its holder when the lease is over': async ({ lock }) => {
    const lease = await held(lock, someResource(), 200);
    const early = lease.signal.aborted || lease.remainingMs() <= 0 || lease.remainingMs() > 200;
    if (!lease.signal.aborted) await Promise.race([once(lease.signal, 'abort'), sleep(2_000)]);
    const lost = lease.signal.reason instanceof LeaseLost && lease.remainingMs() === 0;
    await lease.release();
    return !early && lost;
  },

  'does not touch the next holder when it is released too late': async ({ lock }) => {
    const resource = someResource();
    const late = await held(lock, resource, 100);
    const next = await lock.acquire(resource, { waitMs: 2_000 });
    await late.release();
    const third = await lock.acquire(resource, { waitMs: 0 });
    await next?.release();
    return next !== null && third === null;
  },

  'is free again within the lease after its holder died': async ({ name, lock }) => {
    const resource = someResource();
    const holder = await child('lock-holder.mjs', name, resource, '700', '1000');
    const taken = (await lock.acquire(resource, { waitMs: 0 })) === null;
    holder.kill();
    const next = await lock.acquire(resource, { waitMs: 3_000 });
    await next?.release();
    return taken && next !== null;
  },
} satisfies Record<string, Clause>;

export type ClauseName = keyof typeof clauses;

const environment = () => ({ ...process.env, ...inject('environment') }) as Record<string, string>;

/** Resolves once it has said its first line. */
async function child(file: string, ...args: readonly string[]): Promise<{ said: string; kill: () => void }> {
  const process_ = execa('node', [support(file), ...args], { env: environment(), reject: false });
  const [line] = (await once(process_.stdout, 'data')) as [Buffer];
  return { said: String(line).trim(), kill: () => process_.kill('SIGKILL') };
}
