/** What the owners in this process hold: a hold inside another one must neither shorten the other nor end it. */
import type { Lease } from './lock.ts';

export class Holds {
  readonly #leases = new Map<string, Set<Lease>>();

  add(id: string, lease: Lease): void {
    this.#leases.set(id, (this.#leases.get(id) ?? new Set()).add(lease));
  }

  remove(id: string, lease: Lease): void {
    const leases = this.#leases.get(id);
    leases?.delete(lease);
    if (leases?.size === 0) this.#leases.delete(id);
  }

  /** How long the longest of the owner's leases is still good for, in milliseconds; 0 when it has none. */
  longestMs(id: string): number {
    return Math.max(0, ...[...(this.#leases.get(id) ?? [])].map((lease) => Math.ceil(lease.remainingMs())));
  }
}
