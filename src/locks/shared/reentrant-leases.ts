/**
 * The leases that owners in this process hold. A nested lease must neither shorten nor end the
 * outer one.
 */
import type { LeaseLost } from '../../errors.ts';
import type { Lease } from '../lock.ts';
import { Turns } from './turns.ts';

export class ReentrantLeases {
  readonly #leases = new Map<string, Map<Lease, AbortController | undefined>>();
  readonly #turns = new Turns();

  /**
   * Serialises the calls of one owner of a lock, so that the local count matches the one in Redis.
   */
  inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.inTurn(id, work);
  }

  /** `lost` aborts the lease's signal; without it the watchdog does. */
  add(id: string, lease: Lease, lost?: AbortController): void {
    const leases = this.#leases.get(id) ?? new Map();
    this.#leases.set(id, leases.set(lease, lost));
  }

  /** @returns false when it was lost together with all other leases of its owner. */
  remove(id: string, lease: Lease): boolean {
    const leases = this.#leases.get(id);
    const existed = leases?.delete(lease) ?? false;
    if (leases?.size === 0) this.#leases.delete(id);
    return existed;
  }

  /**
   * How long the longest of the owner's leases is still valid, in milliseconds; 0 when it has none.
   */
  longestMs(id: string): number {
    const leases = [...(this.#leases.get(id)?.keys() ?? [])];
    return Math.max(0, ...leases.map((lease) => Math.ceil(lease.remainingMs())));
  }

  /** Redis answered that the owner does not hold the lock any more. */
  loseAll(id: string, lostError: () => LeaseLost): void {
    const lost = [...(this.#leases.get(id)?.values() ?? [])];
    this.#leases.delete(id);
    for (const each of lost) each?.abort(lostError());
  }
}
