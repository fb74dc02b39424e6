/**
 * What every lock with a server promises: an answer at most one answer time after the wait, and
 * errors that name the resource.
 */
import { LockServiceUnavailable, serviceError } from '../../errors.ts';
import { type AcquireOptions, defaultAnswerMs, type Lease, type Lock } from '../lock.ts';
import { checkRequest } from './checked-options.ts';
import { inTime } from './deadlines.ts';
import { once, withRelease } from './leases.ts';

/** The client's own time-out says more, so it comes first. */
const graceMs = 50;

/** @param answerMs how long one answer of the server may take, in milliseconds */
export function serverLock(lock: Lock, answerMs = defaultAnswerMs): Lock {
  async function acquire(resource: string, options: AcquireOptions): Promise<Lease | null> {
    checkRequest(resource, options);
    const mostMs = options.waitMs + answerMs + graceMs;
    const acquiring = lock.acquire(resource, options);
    try {
      const answer = await inTime(
        acquiring.then((lease) => ({ lease })),
        mostMs,
      );
      if (!answer) throw serviceError('DEADLINE_PASSED', `the lock on ${resource}`, mostMs);
      answer.lease?.assertHeld(); // It may have ended before its answer came.
      return answer.lease && withNamedErrors(resource, answer.lease);
    } catch (error) {
      // It ends by itself; a lease that comes too late is of use to nobody.
      acquiring.then((lease) => lease?.release()).catch(() => {});
      options.signal?.throwIfAborted();
      throw unavailable(resource, error);
    }
  }

  return { ...lock, acquire };
}

function withNamedErrors(resource: string, lease: Lease): Lease {
  const release = once(() =>
    lease.release().catch((error: unknown) => Promise.reject(unavailable(resource, error))),
  );
  return withRelease(lease, release);
}

function unavailable(resource: string, error: unknown): LockServiceUnavailable {
  if (error instanceof LockServiceUnavailable) return error;
  const refused = error instanceof Error && error.name === 'ReplyError';
  return refused
    ? new LockServiceUnavailable(resource, 1, 1, error, `the lock server refused: ${error.message}`)
    : new LockServiceUnavailable(resource, 0, 1, error);
}
