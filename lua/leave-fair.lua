-- Purpose: get out of the line for a fair lock; the turns of those behind come that much sooner.
-- KEYS[1]  the line (list of owners)   KEYS[2] when the turn of each has passed (sorted set: owner -> milliseconds)
-- ARGV[1]  owner   ARGV[2] how long a turn lasts, in milliseconds
-- Answers: 1 when it was in line | 0 when it was not
local is_behind = false
for _, other in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if is_behind then redis.call('ZINCRBY', KEYS[2], -tonumber(ARGV[2]), other) end
  if other == ARGV[1] then is_behind = true end
end
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('LREM', KEYS[1], 0, ARGV[1]) == 0 then return 0 end
return 1
