/** Shared by the locks whose leases have a fence: a number that the owner gives with its write. */
import type { AcquireOptions, Lease, Lock } from '../lock.ts';
import { keepUnlessAborted } from './deadlines.ts';
import { serverLock } from './server-lock.ts';

export interface FencedOptions {
  /** How long one answer of the server that gives the fence may take, in milliseconds; else 500. */
  readonly answerMs?: number;
}

/** A lease of this lock, with the next fence of its resource. Without a fence there is no lease. */
export function withFence(
  lock: Lock,
  giveFence: (resource: string) => Promise<string>,
  { answerMs }: FencedOptions,
): Lock {
  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    const lease = await lock.acquire(resource, options);
    if (!lease) return null;
    try {
      const fence = await giveFence(resource);
      return await keepUnlessAborted({ ...lease, fence }, options.signal);
    } catch (error) {
      await lease.release().catch(() => {}); // The lease expires by itself.
      throw error;
    }
  }

  return serverLock({ acquire }, answerMs);
}
