/**
 * The owners of reentrant locks, and what each may do at a time. An owner is an async context. Node
 * has no threads to be owners, and a process is not one: if the process were the owner, every
 * request in it would re-enter the lock, and the lock would exclude nobody.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { checkRequest } from './checked-options.ts';
import { inTime, timeLeft } from './deadlines.ts';
import { once, withRelease } from './leases.ts';

const contexts = new AsyncLocalStorage<string>();

/**
 * Runs `work`, and whatever it awaits, as one owner: inside, a lock that the owner holds may be
 * acquired again.
 */
export const asOneOwner = <T>(work: () => T): T =>
  contexts.getStore() === undefined ? contexts.run(randomUUID(), work) : work();

/** Outside of such a context every caller is a new owner. */
export const currentOwner = (): string => contexts.getStore() ?? randomUUID();

/**
 * Called when the last wait of an owner ended without a lease. `isWaiting` tells whether the owner
 * waits again by now.
 */
type GaveUp = (resource: string, isWaiting: () => boolean) => void;

/**
 * Queues the waits of one owner in the process. Beside each other, one could sleep while the other
 * has the lock, and in a queue of the lock service they would take two places, or lose the one they
 * share.
 */
export function oneWaitPerOwner(lock: Lock, gaveUp: GaveUp = () => {}): Lock {
  const waits = new Turns();

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    checkRequest(resource, options);
    const { waitMs } = options;
    const name = `${currentOwner()} ${resource}`;
    const isWaiting = () => waits.isTaken(name);
    if (waitMs === 0 && isWaiting()) return null;
    const leftMs = timeLeft(waitMs);
    let lease: Lease | null = null;
    try {
      lease = await waits.inTurnWithin(options, name, () =>
        lock.acquire(resource, { ...options, waitMs: leftMs() }),
      );
      return lease;
    } finally {
      if (!lease && waitMs > 0 && !isWaiting()) gaveUp(resource, isWaiting);
    }
  }

  return {
    reentrant: true,
    acquire: (resource, options) => asOneOwner(() => acquire(resource, options)),
  };
}

interface HeldLease {
  readonly lease: Lease;
  count: number;
}

/**
 * Makes a lock re-entrant, as Curator's InterProcessMutex does: the process counts how often each
 * owner has acquired it, and the lock service sees the first acquire and the last release only.
 */
export function reentrant(lock: Lock): Lock {
  const held = new Map<string, HeldLease>();

  function share(id: string, entry: HeldLease): Lease {
    entry.count += 1;
    const release = once(async () => {
      entry.count -= 1;
      if (entry.count > 0) return;
      if (held.get(id) === entry) held.delete(id);
      await entry.lease.release();
    });
    return withRelease(entry.lease, release);
  }

  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const id = `${currentOwner()} ${resource}`;
    const own = held.get(id);
    // After a stall of the event loop the signal may not have aborted yet.
    if (own && !own.lease.signal.aborted && own.lease.remainingMs() > 0) return share(id, own);
    const lease = await lock.acquire(resource, options);
    if (!lease) return null;
    const entry = { lease, count: 0 };
    held.set(id, entry);
    return share(id, entry);
  }

  return oneWaitPerOwner({ acquire });
}

interface Queue {
  /** Resolves when all work that came so far is finished or has given up. */
  finished: Promise<true>;
  length: number;
}

/**
 * Serialises work by name: the next begins when the one before it is finished, whatever its result.
 */
export class Turns {
  readonly #queues = new Map<string, Queue>();

  /** True while work of this name runs or waits for its turn. */
  isTaken(name: string): boolean {
    return this.#queues.has(name);
  }

  async inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { before, end } = this.#join(name);
    try {
      await before;
      return await work();
    } finally {
      end();
    }
  }

  /** @returns null when the turn did not come within `waitMs`. @throws the abort reason */
  async inTurnWithin<T>(
    { waitMs, signal }: AcquireOptions,
    name: string,
    work: () => Promise<T>,
  ): Promise<T | null> {
    const { before, end } = this.#join(name);
    try {
      if (before && !(await inTime(before, waitMs, signal))) return null;
      return await work();
    } finally {
      end();
    }
  }

  /** `before` is undefined when the turn has come at once. */
  #join(name: string): { before: Promise<true> | undefined; end: () => void } {
    const queue = this.#queues.get(name) ?? { finished: Promise.resolve(true), length: 0 };
    this.#queues.set(name, queue);
    const before = queue.length > 0 ? queue.finished : undefined;
    const { promise: own, resolve: finish } = Promise.withResolvers<true>();
    queue.finished = queue.finished.then(() => own);
    queue.length += 1;
    const end = () => {
      finish(true);
      queue.length -= 1;
      if (queue.length === 0) this.#queues.delete(name);
    };
    return { before, end };
  }
}
