/**
 * Idea. The same hash, owner and watchdog, and nobody is called: who waits asks again, after a pause that doubles.
 * Holds while. As redis-reentrant; and nobody minds that a free lock is noticed late.
 * Breaks when. As redis-reentrant. It cannot miss a message, and it needs no subscription for each lock.
 * Source. Redisson's RedissonSpinLock, with its pauses: 1 ms, doubled each time, 128 ms at most.
 */
import type { Connections } from '../connections/connections.ts';
import type { Lease, Lock } from './lock.ts';
import { hashProtocol, redissonHolds } from './redisson-holds.ts';
import { askAgain } from './waiting.ts';

const mostPauseMs = 128;

const pauseMs = (tries: number) => Math.min(2 ** (tries - 1), mostPauseMs);

export function open(connections: Connections): Lock {
  const holds = redissonHolds(connections, hashProtocol(connections));

  async function attempt(resource: string, owner: string, leaseMs?: number): Promise<Lease | null> {
    const result = await holds.attempt({ key: `lock:${resource}`, owner, leaseMs, waits: false });
    return typeof result === 'number' ? null : result;
  }

  return {
    reentrant: true,
    acquire: (resource, options) => {
      const owner = holds.owner();
      return askAgain(() => attempt(resource, owner, options.leaseMs), options, pauseMs);
    },
  };
}
