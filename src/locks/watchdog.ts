/** Keeps leases alive for as long as their holders work, and says when one is lost. */
import { LeaseLost } from '../errors.ts';

/** True when it was extended, false when the owner does not hold it any more; throws when the service did not answer. */
export type Renew = (key: string, owner: string) => Promise<boolean>;

export interface Watched {
  readonly signal: AbortSignal;
  remainingMs(): number;
  /** One of its holds was given back; with the last one the renewal ends. */
  unwatch(): void;
}

interface Entry {
  readonly key: string;
  readonly owner: string;
  readonly lost: AbortController;
  holds: number;
  goodUntil: number;
  end: NodeJS.Timeout | undefined;
}

/** Every lease is renewed each third of `timeoutMs`; one timer for all of them, which ends at the first round without any. */
export function watchdog(
  renew: Renew,
  timeoutMs: number,
): (key: string, owner: string, since: number) => Watched {
  const entries = new Map<string, Entry>();
  let timer: NodeJS.Timeout | undefined;

  const lose = (entry: Entry) => {
    entry.lost.abort(new LeaseLost(entry.key, timeoutMs));
    forget(entry);
  };
  const forget = (entry: Entry) => {
    clearTimeout(entry.end);
    const id = `${entry.key} ${entry.owner}`;
    if (entries.get(id) === entry) entries.delete(id); // One that was lost may have a successor.
  };
  const goodFrom = (entry: Entry, since: number) => {
    clearTimeout(entry.end);
    entry.goodUntil = since + timeoutMs;
    entry.end = setTimeout(lose, Math.max(0, Math.ceil(entry.goodUntil - performance.now())), entry).unref();
  };
  const renewOne = async (entry: Entry) => {
    const askedAt = performance.now();
    const held = await renew(entry.key, entry.owner).catch(() => null); // No answer: the next round asks again.
    if (entries.get(`${entry.key} ${entry.owner}`) !== entry) return;
    if (held === true) goodFrom(entry, askedAt);
    if (held === false) lose(entry);
  };

  const renewAll = () => {
    for (const entry of entries.values()) void renewOne(entry);
    if (entries.size > 0) return;
    clearInterval(timer); // Not with the last release: the next lease may come at once.
    timer = undefined;
  };

  return (key, owner, since) => {
    const id = `${key} ${owner}`;
    const known = entries.get(id);
    const entry = known ?? {
      key,
      owner,
      lost: new AbortController(),
      holds: 0,
      goodUntil: 0,
      end: undefined,
    };
    entries.set(id, entry);
    entry.holds += 1;
    goodFrom(entry, since);
    timer ??= setInterval(renewAll, timeoutMs / 3).unref();
    const unwatch = () => {
      entry.holds -= 1;
      if (entry.holds === 0) forget(entry);
    };
    return {
      signal: entry.lost.signal,
      remainingMs: () => Math.max(0, entry.goodUntil - performance.now()),
      unwatch,
    };
  };
}
