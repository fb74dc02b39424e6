/**
 * `import { … } from 'lockstep/locks'`: the locks that hold, for a program of your own. Each is
 * made from your clients and its options; docs/library.md says what each promises.
 */
export { LeaseLost, LockServiceUnavailable, LockstepError, OptionInvalid } from '../errors.ts';
export {
  type AcquireOptions,
  type Lease,
  type Lock,
  type RedisLockOptions,
  type UsingOptions,
  using,
} from '../locks/lock.ts';
export { type Master, type MultiLockOptions, multiLock } from '../locks/multilock.ts';
export { processMutex } from '../locks/process-mutex.ts';
export { redisAtomicLock } from '../locks/redis-atomic.ts';
export { type FairOptions, redisFairLock } from '../locks/redis-fair.ts';
export { redisReentrantLock } from '../locks/redis-reentrant.ts';
export { redisSpinLock } from '../locks/redis-spin.ts';
export { redlockLock } from '../locks/redlock.ts';
export { asOneOwner } from '../locks/shared/owner.ts';
export type { RedissonOptions } from '../locks/shared/redisson-leases.ts';
export type { SubscriberOptions } from '../locks/shared/release-notifications.ts';
