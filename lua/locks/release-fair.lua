-- Purpose: release a fair lock once. The last release deletes the lock and notifies the first
--          waiter. A release that is sent again with the same latch counts once. It works like
--          Redisson's RedissonFairLock, with the same keys and answers. Unlike it, it notifies the
--          waiters whose turns it removes because they timed out: one that lives asks again. And it
--          sets no latch where there was nothing to release, so that a later copy still counts.
-- KEYS[1]  the lock (hash: owner -> number of acquires)   KEYS[2] the queue (list)
-- KEYS[3]  when each turn times out (sorted set)   KEYS[4] the prefix of every owner's channel
-- KEYS[5]  latch of this release (string)
-- ARGV[1]  message   ARGV[2] lease in milliseconds, if the owner keeps the lock   ARGV[3] owner
-- ARGV[4]  now, in milliseconds   ARGV[5] how long the latch is kept, in milliseconds
-- Answers: nil when the owner does not hold the lock | 0 when it still holds it
--          | 1 when the lock is free
local done = redis.call('GET', KEYS[5])
if done then return tonumber(done) end

local head = redis.call('LINDEX', KEYS[2], 0)
while head do
  local passes = redis.call('ZSCORE', KEYS[3], head)
  if not passes or tonumber(passes) > tonumber(ARGV[4]) then break end
  redis.call('ZREM', KEYS[3], head)
  redis.call('LPOP', KEYS[2])
  redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1])
  head = redis.call('LINDEX', KEYS[2], 0)
end

if redis.call('EXISTS', KEYS[1]) == 1 then
  local count = tonumber(redis.call('HGET', KEYS[1], ARGV[3]))
  if not count then return nil end
  -- A full Redis takes PEXPIRE and DEL, and after one of them the writes that need memory.
  if count > 1 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('HINCRBY', KEYS[1], ARGV[3], -1)
    redis.call('SET', KEYS[5], 0, 'PX', ARGV[5])
    return 0
  end
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[5], 1, 'PX', ARGV[5]) -- Not for a lock that nobody has released.
end
if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1]) end
return 1
