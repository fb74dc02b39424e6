-- Purpose: release a reentrant lock once. The last release deletes the lock and notifies the
--          waiters. A release that is sent again with the same latch counts once. It does exactly
--          what Redisson's RedissonLock.unlockInnerAsync does.
-- KEYS[1]  the lock (hash: owner -> number of acquires)   KEYS[2] channel of its releases
-- KEYS[3]  latch of this release (string)
-- ARGV[1]  message   ARGV[2] lease in milliseconds, if the owner keeps the lock   ARGV[3] owner
-- ARGV[4]  how long the latch is kept, in milliseconds
-- Answers: nil when the owner does not hold the lock | 0 when it still holds it
--          | 1 when the lock is free
local done = redis.call('GET', KEYS[3])
if done then return tonumber(done) end
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[3]))
if not count then return nil end
-- A full Redis takes PEXPIRE and DEL, and after one of them the writes that need memory.
if count > 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('HINCRBY', KEYS[1], ARGV[3], -1)
  redis.call('SET', KEYS[3], 0, 'PX', ARGV[4])
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], ARGV[1])
redis.call('SET', KEYS[3], 1, 'PX', ARGV[4])
return 1
