/**
 * What the locks with a server share: waiting by asking again; an answer in time and errors that
 * name the resource; and, when Redis hung or the connection broke, the release of what a lost
 * answer may have granted.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';
import { LockServiceUnavailable, serviceError } from '../../errors.ts';
import { tellWaiting } from '../../trace/history.ts';
import {
  type AcquireOptions,
  defaultAnswerMs,
  defaultKeyPrefix,
  defaultLeaseMs,
  type Lease,
  type Lock,
  type RedisLockOptions,
} from '../lock.ts';
import { checkOptions, checkRequest } from './checked-options.ts';
import { inTime, timeLeft } from './deadlines.ts';
import { once, timedLease, withRelease } from './leases.ts';

/** What one attempt asks for. */
export interface KeyAttempt {
  readonly resource: string;
  readonly key: string;
  readonly leaseMs: number;
}

/**
 * A lock whose waiters ask again.
 * @param attempt asks once; null: another owner has it.
 * @param retryMs the pause between two attempts, in milliseconds
 * @throws OptionInvalid
 */
export function pollingLock(
  options: RedisLockOptions,
  attempt: (asked: KeyAttempt) => Promise<Lease | null>,
  retryMs = 20,
): Lock {
  const { keyPrefix = defaultKeyPrefix, leaseMs: defaultMs = defaultLeaseMs } =
    checkOptions(options);
  const acquire: Lock['acquire'] = (resource, wanted) => {
    const { leaseMs = defaultMs } = wanted;
    const asked = { resource, key: keyPrefix + resource, leaseMs };
    return poll(
      () => attempt(asked),
      wanted,
      () => retryMs,
    );
  };
  return serverLock({ acquire }, options.answerMs);
}

/**
 * Asks at once, then again after pauses with ±50 % jitter, so that waiters do not ask at the same
 * moment.
 * @param pauseMs the pause after this number of attempts, in milliseconds.
 * @returns the first lease, or null once `waitMs` has passed; the last pause is cut to the
 * remaining time.
 */
export async function poll(
  attempt: () => Promise<Lease | null>,
  { waitMs, signal }: AcquireOptions,
  pauseMs: (attempts: number) => number,
): Promise<Lease | null> {
  const leftMs = timeLeft(waitMs);
  for (let attempts = 1; ; attempts++) {
    signal?.throwIfAborted();
    const lease = await attempt();
    if (lease && !signal?.aborted) return lease;
    if (lease) await lease.release(); // The caller gave up while the answer was on its way.
    if (leftMs() === 0 && !signal?.aborted) return null;
    if (attempts === 1) tellWaiting();
    await pause(Math.min(leftMs(), pauseMs(attempts) * (0.5 + Math.random())), signal);
  }
}

async function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}

/** So much later than the time-out of the Redis client, whose error says more. */
const graceMs = 50;

/**
 * A lock that answers at most one answer time after the wait.
 * @param answerMs how long one answer of the server may take, in milliseconds
 */
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
      // A lease may still be granted, and nobody would use it.
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

/** How often a release is sent, until Redis answers it: for 15 seconds with the default answer. */
export const releaseTries = 30;
/** The number of them that the owner waits for. */
export const awaitedTries = 3;

interface KeyRequest {
  readonly resource: string;
  readonly leaseMs: number;
  /** Sets the key; Redis answers OK when nobody has it. */
  readonly ask: () => Promise<unknown>;
  /** Sent until Redis answers it, so it may run twice. */
  readonly release: () => Promise<unknown>;
  /** For the owner's release: not for that of a lease whose grant was never heard of. */
  readonly beforeRelease?: () => Promise<void> | undefined;
}

/**
 * The leases of a lock that is one key with an expiry. It is made together with the lock, so that
 * it knows each connection before anything is asked on it.
 */
export class KeyLeases {
  readonly #redis: Redis;
  readonly #answerMs: number;

  constructor(redis: Redis, { answerMs = defaultAnswerMs }: RedisLockOptions) {
    earlierConnections(redis);
    this.#redis = redis;
    this.#answerMs = answerMs;
  }

  /**
   * Asks Redis. When the answer is lost, the lock may have been granted: it is released in the
   * background, on the next connection. If that is not answered either, the key expires.
   * @returns null when another owner has the lock.
   */
  async lease(request: KeyRequest): Promise<Lease | null> {
    const { resource, leaseMs, ask, release, beforeRelease } = request;
    const askedAt = performance.now();
    const isSent = this.#redis.status === 'ready';
    const answer = await ask().catch((error: unknown) => {
      if (isSent) untilReleased(this.#redis, this.#answerMs, release).catch(() => {});
      throw error;
    });
    if (answer !== 'OK') return null;
    const validMs = leaseMs - (performance.now() - askedAt);
    return timedLease(resource, validMs, async () => {
      await beforeRelease?.();
      await releaseSoon(this.#redis, this.#answerMs, release);
    });
  }
}

/**
 * Sends a release until Redis answers it, after the request that it releases can take no effect any
 * more. The release may run twice.
 */
export function untilReleased<T>(
  redis: Redis,
  answerMs: number,
  release: () => Promise<T>,
): Promise<T> {
  const earlier = earlierConnections(redis);
  return untilAnswered(redis, releaseTries, answerMs, async () => {
    await earlier.end();
    return release();
  });
}

/**
 * For the owner, who waits for the first tries only.
 * @throws the error of the last of them; the release is sent on in the background.
 */
function releaseSoon(
  redis: Redis,
  answerMs: number,
  release: () => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failures = 0;
    const counted = () =>
      release().catch((error: unknown) => {
        failures += 1;
        if (failures === awaitedTries) reject(error);
        throw error;
      });
    untilReleased(redis, answerMs, counted).then(() => resolve(), reject);
  });
}

interface Connection {
  readonly id: number;
  /** Ids begin again with each process of Redis, and another server has its own. */
  readonly server: string;
}

const known = new WeakMap<Redis, EarlierConnections>();

/** Call it before anything is sent: it learns the id of each connection when it is ready. */
export function earlierConnections(redis: Redis): EarlierConnections {
  const present = known.get(redis) ?? new EarlierConnections(redis);
  known.set(redis, present);
  return present;
}

/**
 * A connection that was closed while Redis hung, or while its packets were lost, may have sent
 * commands that Redis has not read yet: a request for a lock that nobody waits for any more. CLIENT
 * KILL on the next connection ends it, so that what it sent takes no effect after that.
 */
class EarlierConnections {
  readonly #redis: Redis;
  #earlier: Connection[] = [];
  #current: Promise<Connection | null> = Promise.resolve(null);

  constructor(redis: Redis) {
    this.#redis = redis;
    const client: object = redis;
    if (client instanceof Cluster) return; // Its commands go to several nodes.
    redis.on('ready', () => this.#begin());
    if (redis.status === 'ready') this.#begin();
  }

  #begin(): void {
    const before = this.#current;
    this.#current = this.#ask().then(async (connection) => {
      const last = await before;
      if (last) this.#earlier.push(last);
      return connection;
    });
  }

  /** @returns null when Redis does not say. */
  async #ask(): Promise<Connection | null> {
    const asking = [this.#redis.client('ID'), this.#redis.info('server')] as const;
    const [id, info] = await Promise.all(asking).catch(() => []);
    const server = /^run_id:(\w+)/m.exec(String(info))?.[1];
    return id === undefined || server === undefined ? null : { id, server };
  }

  /** Where CLIENT KILL is not allowed, they end by themselves once Redis reads their end. */
  async end(): Promise<void> {
    const current = await this.#current;
    if (!current) return;
    const earlier = this.#earlier.splice(0).filter(({ server }) => server === current.server);
    const kills = earlier.map(({ id }) => this.#redis.client('KILL', 'ID', id));
    await Promise.all(kills).catch(() => {
      if (this.#redis.status !== 'ready') this.#earlier.push(...earlier);
    });
  }
}
