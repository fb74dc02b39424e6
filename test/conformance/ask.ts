/** Asking for a lock, with a limit: an answer that does not come is a result too. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, Grant } from './subject.ts';

export type Asked =
  | { readonly kind: 'granted'; readonly ms: number; readonly grant: Grant }
  | { readonly kind: 'refused'; readonly ms: number }
  | { readonly kind: 'failed'; readonly ms: number; readonly error: unknown }
  /** No answer within the limit. */
  | { readonly kind: 'silent'; readonly ms: number };

const outcomes: Readonly<Record<Asked['kind'], string>> = {
  granted: 'was granted',
  refused: 'was refused',
  failed: 'failed',
  silent: 'got no answer',
};

/** For a sentence about the call. */
export const outcomeOf = ({ kind }: Asked): string => outcomes[kind];

export async function ask(contender: Contender, resource: string, limitMs: number): Promise<Asked> {
  const askedAt = performance.now();
  const ms = () => performance.now() - askedAt;
  const answer = contender.acquire(resource).then(
    (grant): Asked =>
      grant ? { kind: 'granted', ms: ms(), grant } : { kind: 'refused', ms: ms() },
    (error: unknown): Asked => ({ kind: 'failed', ms: ms(), error }),
  );
  return within(limitMs, answer, (): Asked => ({ kind: 'silent', ms: ms() }));
}

/** The work's result, or this one after `limitMs`. */
export async function within<T, R>(limitMs: number, work: Promise<T>, late: () => R) {
  const stop = new AbortController();
  const limit = sleep(limitMs, undefined, { signal: stop.signal }).then(late);
  limit.catch(() => {}); // Stopped, because the work was faster.
  return Promise.race([work, limit]).finally(() => stop.abort());
}

/** Asks again until the lock is granted or `limitMs` has passed; an error counts as "not yet". */
export async function askUntilGranted(
  contender: Contender,
  resource: string,
  limitMs: number,
): Promise<Asked> {
  const askedAt = performance.now();
  for (;;) {
    const asked = await ask(contender, resource, limitMs - (performance.now() - askedAt));
    const ms = performance.now() - askedAt;
    if (asked.kind === 'granted' || asked.kind === 'silent' || ms >= limitMs)
      return { ...asked, ms };
    await sleep(5); // A package that fails at once must not spin.
  }
}

/** Releases, and waits at most `limitMs`. @returns its error, if it has one, and its time */
export async function release(
  grant: Grant,
  limitMs: number,
): Promise<{ readonly ms: number; readonly isDone: boolean; readonly error?: unknown }> {
  const startedAt = performance.now();
  const work = Promise.resolve(grant.release()).then(
    () => ({ isDone: true }),
    (error: unknown) => ({ isDone: true, error }),
  );
  const end = await within(limitMs, work, () => ({ isDone: false }));
  return { ...end, ms: performance.now() - startedAt };
}
