/** What the history says of the locks: who has which, and who was refused one and waits for it. */
import type { HistoryEvent } from '../../service/trace/history.ts';

const ofLocks: readonly string[] = [
  ...['requested', 'waiting', 'granted', 'denied', 'expired', 'releasing', 'released'],
];
export const isOfLock = ({ event }: HistoryEvent): boolean => ofLocks.includes(event);

interface WantedLock {
  readonly place: string;
  /** It was refused once, and waits from now on. */
  isRefused: boolean;
}

export class LaneLocks {
  readonly #isInProcess: boolean;
  /** By the resource; where the lock is in the process, by the instance too. */
  readonly #owners = new Map<string, Set<string>>();
  readonly #wanted = new Map<string, WantedLock>();

  /** @param isInProcess an instance knows its own owners only. */
  constructor(isInProcess: boolean) {
    this.#isInProcess = isInProcess;
  }

  read(lane: string, { event, resource, instance }: HistoryEvent): void {
    if (event === 'waiting') {
      const wanted = this.#wanted.get(lane);
      if (wanted) wanted.isRefused = true;
    }
    if (resource === undefined) return;
    const place = this.#isInProcess ? `${instance} ${resource}` : resource;
    if (event === 'requested') this.#wanted.set(lane, { place, isRefused: false });
    else this.#wanted.delete(lane);
    const owners = this.#owners.get(place) ?? new Set();
    this.#owners.set(place, owners);
    if (event === 'granted') {
      owners.delete(lane); // The newest is the last.
      owners.add(lane);
    }
    if (event === 'released' || event === 'expired') owners.delete(lane);
  }

  /** Its process is no more, and so are the locks in it. Those in a server stay. */
  died(lane: string): void {
    this.#wanted.delete(lane);
    if (this.#isInProcess) for (const owners of this.#owners.values()) owners.delete(lane);
  }

  /** Of a lock that was granted again before its release, the key is that of the newest owner. */
  isNewestOwner(lane: string): boolean {
    return [...this.#owners.values()].some((owners) => [...owners].at(-1) === lane);
  }

  /** The owners of a lock that was granted again before the lease of the one before had ended. */
  ownersAtOnce(isAwake: (lane: string) => boolean): readonly string[] {
    const awake = [...this.#owners.values()].map((owners) => [...owners].filter(isAwake));
    return awake.find(({ length }) => length > 1) ?? [];
  }

  /** It owns nothing any more. */
  leaseEnded(lane: string): void {
    for (const owners of this.#owners.values()) owners.delete(lane);
  }

  /** @param place the resource; where the lock is in the process, the instance before it */
  newestAt(place: string): string | undefined {
    return [...(this.#owners.get(place) ?? [])].at(-1);
  }

  /** It was refused its lock, and waits for it. */
  isRefused(lane: string): boolean {
    return this.#wanted.get(lane)?.isRefused ?? false;
  }

  /** @returns the owners of the lock that it waits for, itself too; none when it does not wait */
  waitedFor(lane: string): string[] {
    const wanted = this.#wanted.get(lane);
    if (!wanted?.isRefused) return [];
    return [...(this.#owners.get(wanted.place) ?? [])];
  }
}
