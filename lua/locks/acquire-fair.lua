-- Purpose: acquire a fair lock, or acquire it again as its owner, or join its queue. It works like
--          Redisson's RedissonFairLock, with the same keys and answers. Unlike it, it notifies the
--          waiter whose turn it removes because it timed out: one that lives asks again. It also
--          notifies the next waiter when the lock is free then.
-- KEYS[1]  the lock (hash: owner -> number of acquires)
-- KEYS[2]  the queue (list of owners)
-- KEYS[3]  when each turn times out (sorted set: owner -> milliseconds)
-- KEYS[4]  the prefix of every owner's channel
-- ARGV[1]  lease in milliseconds   ARGV[2] owner   ARGV[3] how long a turn lasts, in milliseconds
-- ARGV[4]  now, in milliseconds   ARGV[5] 'wait' to join the queue | 'try' to ask once only
-- ARGV[6]  message
-- Answers: nil when the owner has the lock | else about how many milliseconds it has to wait
local turn, now = tonumber(ARGV[3]), tonumber(ARGV[4])

local head = redis.call('LINDEX', KEYS[2], 0)
local was_removed = false
while head do
  local passes = redis.call('ZSCORE', KEYS[3], head)
  if not passes or tonumber(passes) > now then break end
  redis.call('ZREM', KEYS[3], head)
  redis.call('LPOP', KEYS[2])
  redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[6])
  was_removed = true
  head = redis.call('LINDEX', KEYS[2], 0)
end

if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[2]) then
  redis.call('LPOP', KEYS[2])
  redis.call('ZREM', KEYS[3], ARGV[2])
  for _, other in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    redis.call('ZINCRBY', KEYS[3], -turn, other)
  end
  redis.call('HSET', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
if was_removed and head and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('PUBLISH', KEYS[4] .. ':' .. head, ARGV[6])
end
if ARGV[5] == 'try' or redis.call('ZSCORE', KEYS[3], ARGV[2]) then
  return math.max(0, redis.call('PTTL', KEYS[1]))
end

local last = redis.call('LINDEX', KEYS[2], -1)
local passes = last and redis.call('ZSCORE', KEYS[3], last)
local wait = passes and tonumber(passes) - now or redis.call('PTTL', KEYS[1])
redis.call('ZADD', KEYS[3], now + wait + turn, ARGV[2])
redis.call('RPUSH', KEYS[2], ARGV[2])
return wait
