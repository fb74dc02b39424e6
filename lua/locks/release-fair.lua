-- Purpose: give a fair lock back once; the last time, delete it and tell the first in line. Sent twice with one latch it
--          is still one release. What Redisson's RedissonFairLock does, with the same keys and answers.
-- KEYS[1]  the lock (hash: owner -> count)   KEYS[2] the line (list)   KEYS[3] when turns have passed (sorted set)
-- KEYS[4]  the first part of every owner's channel   KEYS[5] latch of this release (string)
-- ARGV[1]  message   ARGV[2] lease in milliseconds, for what is still held   ARGV[3] owner
-- ARGV[4]  now, in milliseconds   ARGV[5] how long the latch is kept, in milliseconds
-- Answers: nil when the owner does not hold it | 0 when it still holds it | 1 when it is free
local done = redis.call('GET', KEYS[5])
if done then return tonumber(done) end

local head = redis.call('LINDEX', KEYS[2], 0)
while head do
  local passes = redis.call('ZSCORE', KEYS[3], head)
  if not passes or tonumber(passes) > tonumber(ARGV[4]) then break end
  redis.call('ZREM', KEYS[3], head)
  redis.call('LPOP', KEYS[2])
  head = redis.call('LINDEX', KEYS[2], 0)
end

if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return nil end
  if redis.call('HINCRBY', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[5], 0, 'PX', ARGV[5])
    return 0
  end
  redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[5], 1, 'PX', ARGV[5])
if head then redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[1]) end
return 1
