-- Purpose: get out of the line for a fair lock; the turns of those behind come that much sooner, and who is first now is
--          told if the lock is free.
-- KEYS[1]  the lock (hash)   KEYS[2] the line (list of owners)
-- KEYS[3]  when the turn of each has passed (sorted set: owner -> milliseconds)   KEYS[4] the first part of every channel
-- ARGV[1]  owner   ARGV[2] how long a turn lasts, in milliseconds   ARGV[3] message
-- Answers: 1 when it was in line | 0 when it was not
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
