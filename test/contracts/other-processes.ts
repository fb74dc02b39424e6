/**
 * Processes that contend for every lock at once: each is started once, and not once for each lock.
 * What they saw is kept, and each lock's clauses judge their own part of it.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { execa } from 'execa';
import type { Lock } from '../../src/service/locks/lock.ts';
import { patient } from '../support/connections.ts';
import { contend, contender, type Section } from '../support/locks.ts';
import { ownLab } from '../support/own-lab.ts';

/** What a process was answered: `held`, `not in time`, or the message of an error. */
type Answers = ReadonlyMap<string, string>;

/** Of a lock whose owner was killed. */
export interface Fate {
  readonly said: string;
  readonly isTaken: boolean;
  readonly isFreeLater: boolean;
}

export interface OtherProcesses {
  /** Of a process that asked while this one held the locks. */
  readonly answers: () => Promise<Answers>;
  readonly sections: () => Promise<readonly Section[]>;
  readonly afterShortLease: () => Promise<ReadonlyMap<string, Fate>>;
  readonly afterDefaultLease: () => Promise<ReadonlyMap<string, Fate>>;
}

const shortLeaseMs = 3_000;
const long = '120000';

/** @param locks filled before the first clause runs */
export const otherProcesses = (locks: ReadonlyMap<string, Lock>): OtherProcesses => ({
  answers: first(() => askWhileHeld(locks)),
  sections: first(() => contend(contenders(locks), patient)),
  afterShortLease: first(() => killOwner(locks, 'own')),
  afterDefaultLease: first(() => killOwner(locks, 'default')),
});

function first<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

type Resources = Readonly<Record<string, string>>;
const someResources = (locks: ReadonlyMap<string, Lock>): Resources => {
  const mark = randomUUID();
  return Object.fromEntries([...locks.keys()].map((name) => [name, `test:${mark}:${name}`]));
};

/** @returns what the work made of each lock, by its name. */
async function onEach<T>(
  locks: ReadonlyMap<string, Lock>,
  work: (lock: Lock, name: string) => Promise<T>,
): Promise<Map<string, T>> {
  const made = [...locks].map(async ([name, lock]) => [name, await work(lock, name)] as const);
  return new Map(await Promise.all(made));
}

function contenders(locks: ReadonlyMap<string, Lock>) {
  const one = contender(someResources(locks), 20);
  return [one, one, one];
}

async function askWhileHeld(locks: ReadonlyMap<string, Lock>): Promise<Answers> {
  const resources = someResources(locks);
  const leases = await onEach(locks, (lock, name) =>
    lock.acquire(resources[name] ?? '', { waitMs: 20_000, leaseMs: 120_000 }),
  );
  const holder = await hold(resources, '1000', 50, patient);
  holder.kill();
  await Promise.allSettled([...leases.values()].map((lease) => lease?.release()));
  return holder.answers;
}

/**
 * The owner of all locks is killed; each must be free some time later, and not before. Leases that
 * may have ended before it was killed show nothing: then again, with longer ones.
 * @param lease that its caller asks for, or that its settings say
 */
async function killOwner(
  locks: ReadonlyMap<string, Lock>,
  lease: 'own' | 'default',
  leaseMs = shortLeaseMs,
): Promise<Map<string, Fate>> {
  const resources = someResources(locks);
  const [own, byDefault] = lease === 'own' ? [`${leaseMs}`, long] : ['default', `${leaseMs}`];
  const startedAt = performance.now();
  const holder = await hold(resources, own, 10_000, {
    ...{ LOCK_LEASE_MS: byDefault, LOCK_WATCHDOG_MS: byDefault },
    ...{ LOCK_ANSWER_MS: '1000', ZOOKEEPER_SESSION_MS: `${leaseMs}` },
  });
  const isGranted = (lock: Lock, name: string, waitMs: number) =>
    lock.acquire(resources[name] ?? '', { waitMs }).then(async (lease) => {
      await lease?.release();
      return lease !== null;
    });
  const early = await onEach(locks, (lock, name) => isGranted(lock, name, 0));
  holder.kill();
  if (performance.now() - startedAt > leaseMs) return killOwner(locks, lease, 4 * leaseMs);
  return onEach(locks, async (lock, name) => ({
    said: holder.answers.get(name) ?? '',
    isTaken: early.get(name) === false,
    isFreeLater: await isGranted(lock, name, 3 * leaseMs),
  }));
}

/** A process that acquires each lock, and holds what it got until it is killed. */
async function hold(
  resources: Resources,
  leaseMs: string,
  waitMs: number,
  changes: Readonly<Record<string, string>>,
): Promise<{ readonly answers: Answers; readonly kill: () => void }> {
  const file = new URL('../support/lock-process.mjs', import.meta.url).pathname;
  const args = [file, JSON.stringify(resources), 'hold', leaseMs, String(waitMs)];
  const holder = execa('node', args, {
    ...{ env: { ...ownLab.environment, ...changes }, reject: false, timeout: 60_000 },
  });
  const [line] = (await once(holder.stdout, 'data')) as [Buffer];
  const answers = new Map(Object.entries(JSON.parse(String(line)) as Record<string, string>));
  return { answers, kill: () => void holder.kill('SIGKILL') };
}
