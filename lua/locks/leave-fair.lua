-- Purpose: leave the queue of a fair lock. The turns of all later waiters start earlier; if the
--          lock is free and the first waiter left, the new first waiter is notified.
-- KEYS[1]  the lock (hash)   KEYS[2] the queue (list of owners)
-- KEYS[3]  when each turn times out (sorted set: owner -> milliseconds)
-- KEYS[4]  the prefix of every owner's channel
-- ARGV[1]  owner   ARGV[2] how long a turn lasts, in milliseconds   ARGV[3] message
-- Answers: 1 when the owner was in the queue | 0 when it was not
local was_first = redis.call('LINDEX', KEYS[2], 0) == ARGV[1]
local is_behind = false
for _, other in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if is_behind then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[2]), other) end
  if other == ARGV[1] then is_behind = true end
end
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('LREM', KEYS[2], 0, ARGV[1]) == 0 then return 0 end

local first = redis.call('LINDEX', KEYS[2], 0)
if was_first and first and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('PUBLISH', KEYS[4] .. ':' .. first, ARGV[3])
end
return 1
