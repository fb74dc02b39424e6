/** Requests and releases whose answer is lost: Redis hung, or the connection broke. */
import type { Redis } from 'ioredis';
import { untilAnswered } from '../../connections/redis.ts';
import type { Lease } from '../lock.ts';
import { earlierConnections } from './earlier-connections.ts';
import { timedLease } from './leases.ts';

/** How often a release is sent, until Redis answers it: for 15 seconds with the default answer. */
export const releaseTries = 30;
/** The number of them that the owner waits for. */
export const awaitedTries = 3;

interface KeyRequest {
  readonly resource: string;
  readonly leaseMs: number;
  /** Sets the key; Redis answers OK when nobody has it. */
  readonly ask: () => Promise<unknown>;
  /** May be sent twice. */
  readonly release: () => Promise<unknown>;
  /** What its owner does; `release`, sent until Redis answers it, without it. */
  readonly giveBack?: () => Promise<void>;
}

/**
 * The leases of a lock that is one key with an expiry. It is made together with the lock, so that
 * it knows each connection before anything is asked on it.
 */
export class KeyLeases {
  readonly #redis: Redis;
  readonly #answerMs: number;

  constructor(redis: Redis, answerMs: number) {
    earlierConnections(redis);
    this.#redis = redis;
    this.#answerMs = answerMs;
  }

  /**
   * Asks Redis. When the answer is lost, the lock may have been granted: it is released in the
   * background, on the next connection. If that is not answered either, the key expires.
   * @returns null when another owner has the lock.
   */
  async lease({ resource, leaseMs, ask, release, giveBack }: KeyRequest): Promise<Lease | null> {
    const askedAt = performance.now();
    const isSent = this.#redis.status === 'ready';
    const answer = await ask().catch((error: unknown) => {
      if (isSent) untilReleased(this.#redis, this.#answerMs, release).catch(() => {});
      throw error;
    });
    if (answer !== 'OK') return null;
    const validMs = leaseMs - (performance.now() - askedAt);
    return timedLease(resource, validMs, giveBack ?? (() => this.giveBack(release)));
  }

  /** @throws the error of the last try that the owner waits for */
  giveBack(release: () => Promise<unknown>): Promise<void> {
    return releaseSoon(this.#redis, this.#answerMs, release);
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
