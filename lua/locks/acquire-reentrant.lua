-- Purpose: take a reentrant lock, or take it once more; Redisson's RedissonLock.tryLockInnerAsync, to the letter.
-- KEYS[1]  the lock (hash: owner -> how many times it holds)
-- ARGV[1]  lease in milliseconds   ARGV[2] owner ('client id:async context id')
-- Answers: nil when it is the owner's now | else how many milliseconds the holder's lease still lasts (-1: no end)
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
return redis.call('PTTL', KEYS[1])
