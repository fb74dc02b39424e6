/**
 * Idea. The hash, owner and watchdog of redis-reentrant, without messages: a waiter asks again,
 *   after a pause that doubles.
 * Holds while. As redis-reentrant.
 * Breaks when. As redis-reentrant. It cannot miss a message and needs no subscription, but notices
 *   a free lock late.
 * Source. Redisson's RedissonSpinLock, with its pauses: 1 ms, doubled each time, 128 ms at most.
 */
import type { Redis } from 'ioredis';
import type { Lease, Lock } from './lock.ts';
import { oneWaitPerOwner } from './shared/owner.ts';
import { hashProtocol, RedissonLeases, type RedissonOptions } from './shared/redisson-leases.ts';
import { poll, serverLock } from './shared/server-lock.ts';

const pauseMsMax = 128;

const pauseMs = (attempts: number) => Math.min(2 ** (attempts - 1), pauseMsMax);

/** As `redisReentrantLock`; one who waits asks again and again. */
export function redisSpinLock(redis: Redis, options: RedissonOptions = {}): Lock {
  const leases = new RedissonLeases(redis, hashProtocol(redis), options);

  async function attempt(resource: string, owner: string, leaseMs?: number): Promise<Lease | null> {
    const result = await leases.attempt({ resource, owner, leaseMs, waits: false });
    return typeof result === 'number' ? null : result;
  }

  const acquire: Lock['acquire'] = (resource, options) => {
    const owner = leases.owner();
    return poll(() => attempt(resource, owner, options.leaseMs), options, pauseMs);
  };

  return serverLock(oneWaitPerOwner({ acquire }), options.answerMs);
}
