/**
 * Renews leases for as long as their owners work, and aborts the signal of a lease that is lost.
 */
import { LeaseLost } from '../../errors.ts';

/**
 * True when the lease was renewed, false when the owner no longer holds it; throws when the service
 * did not answer.
 */
export type Renew = (key: string, owner: string) => Promise<boolean>;

export interface Watched {
  readonly signal: AbortSignal;
  remainingMs(): number;
  lostError(): LeaseLost;
  /** Called at each release; the last one ends the renewal. */
  unwatch(): void;
}

/** The advice of a lease that nobody chose: its time is the watchdog's. */
export const notRenewed = (key: string, timeoutMs: number): LeaseLost =>
  new LeaseLost(
    key,
    timeoutMs,
    'Redis confirmed no renewal in that time: it was down, or this process stood still (LOCK_WATCHDOG_MS)',
  );

interface Entry {
  readonly key: string;
  readonly owner: string;
  readonly lost: AbortController;
  leases: number;
  validUntil: number;
  expiry: NodeJS.Timeout | undefined;
}

/**
 * Renews every lease each third of `timeoutMs`, with one timer for all; it stops at the first round
 * without a lease.
 */
export function watchdog(
  renew: Renew,
  timeoutMs: number,
): (key: string, owner: string, since: number) => Watched {
  const entries = new Map<string, Entry>();
  let timer: NodeJS.Timeout | undefined;

  const lose = (entry: Entry) => {
    entry.lost.abort(notRenewed(entry.key, timeoutMs));
    forget(entry);
  };
  const forget = (entry: Entry) => {
    clearTimeout(entry.expiry);
    const id = `${entry.key} ${entry.owner}`;
    if (entries.get(id) === entry) entries.delete(id); // A lost lease may have a successor.
  };
  const validFrom = (entry: Entry, since: number) => {
    clearTimeout(entry.expiry);
    entry.validUntil = since + timeoutMs;
    const leftMs = Math.max(0, Math.ceil(entry.validUntil - performance.now()));
    entry.expiry = setTimeout(lose, leftMs, entry).unref();
  };
  const renewOne = async (entry: Entry) => {
    const askedAt = performance.now();
    // No answer: the next round asks again.
    const isHeld = await renew(entry.key, entry.owner).catch(() => null);
    if (entries.get(`${entry.key} ${entry.owner}`) !== entry) return;
    if (isHeld === true) validFrom(entry, askedAt);
    if (isHeld === false) lose(entry);
  };

  const renewAll = () => {
    for (const entry of entries.values()) void renewOne(entry);
    if (entries.size > 0) return;
    clearInterval(timer); // Not at the last release: the next lease may come at once.
    timer = undefined;
  };

  return (key, owner, since) => {
    const id = `${key} ${owner}`;
    const entry = entries.get(id) ?? newEntry(key, owner);
    entries.set(id, entry);
    entry.leases += 1;
    validFrom(entry, since);
    timer ??= setInterval(renewAll, timeoutMs / 3).unref();
    const unwatch = () => {
      entry.leases -= 1;
      if (entry.leases === 0) forget(entry);
    };
    return {
      signal: entry.lost.signal,
      remainingMs: () => Math.max(0, entry.validUntil - performance.now()),
      lostError: () => notRenewed(key, timeoutMs),
      unwatch,
    };
  };
}

const newEntry = (key: string, owner: string): Entry => ({
  key,
  owner,
  lost: new AbortController(),
  leases: 0,
  validUntil: 0,
  expiry: undefined,
});
