/** What the owners in this process hold of which lock: a hold inside another one must neither shorten the other nor end it. */
import { LeaseLost } from '../errors.ts';
import type { Lease } from './lock.ts';

export class Holds {
  readonly #leases = new Map<string, Map<Lease, AbortController | undefined>>();
  readonly #turns = new Map<string, Promise<unknown>>();

  /** One thing at a time for each owner of a lock, so that what is known here is what Redis has. */
  async inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id);
    const turn = before ? before.then(work, work) : work();
    this.#turns.set(id, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }

  /** `lost` aborts the lease's signal, where nobody else does. */
  add(id: string, lease: Lease, lost?: AbortController): void {
    const leases = this.#leases.get(id) ?? new Map();
    this.#leases.set(id, leases.set(lease, lost));
  }

  /** @returns false when it was lost together with all others of its owner. */
  remove(id: string, lease: Lease): boolean {
    const leases = this.#leases.get(id);
    const wasThere = leases?.delete(lease) ?? false;
    if (leases?.size === 0) this.#leases.delete(id);
    return wasThere;
  }

  /** How long the longest of the owner's leases is still good for, in milliseconds; 0 when it has none. */
  longestMs(id: string): number {
    const leases = [...(this.#leases.get(id)?.keys() ?? [])];
    return Math.max(0, ...leases.map((lease) => Math.ceil(lease.remainingMs())));
  }

  /** Redis says that the owner holds nothing any more. */
  loseAll(id: string, resource: string, leaseMs: number): void {
    const lost = [...(this.#leases.get(id)?.values() ?? [])];
    this.#leases.delete(id);
    for (const each of lost) each?.abort(new LeaseLost(resource, leaseMs));
  }
}
