/**
 * Idea. The lock of redis-reentrant with a lease time, as in Redisson's `lock(10, SECONDS)`: the
 *   watchdog renews no lease that names its time.
 * Holds while. The sale is shorter than the lease, and Redis keeps its data. The owner may acquire
 *   again, and a lock that is never released is free after its lease.
 * Breaks when. The sale outlasts the lease: nobody renews it.
 * Source. Redisson, RLock.lock(leaseTime, unit); the course notes' warning that a lease time turns
 *   the watchdog off.
 */
import { defaultLeaseMs, type Lock } from './lock.ts';

/** @param leaseMs the lease of an acquire that names none */
export function redisReentrantLeaseLock(lock: Lock, leaseMs = defaultLeaseMs): Lock {
  return {
    ...lock,
    acquire: (resource, wanted) =>
      lock.acquire(resource, { ...wanted, leaseMs: wanted.leaseMs ?? leaseMs }),
  };
}
