-- Purpose: acquire a reentrant lock, or acquire it again as its owner. It does exactly what
--          Redisson's RedissonLock.tryLockInnerAsync does.
-- KEYS[1]  the lock (hash: owner -> number of acquires)
-- ARGV[1]  lease in milliseconds   ARGV[2] owner ('client id:async context id')
-- Answers: nil when the owner has the lock
--          | else the milliseconds until the lease of the present owner expires (-1: it never does)
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
return redis.call('PTTL', KEYS[1])
