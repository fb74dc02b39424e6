-- Purpose: take a fair lock, or take it once more, or get in line for it; what Redisson's RedissonFairLock does, with the
--          same keys and answers.
-- KEYS[1]  the lock (hash: owner -> how many times it holds)
-- KEYS[2]  the line (list of owners)   KEYS[3] when the turn of each has passed (sorted set: owner -> milliseconds)
-- ARGV[1]  lease in milliseconds   ARGV[2] owner   ARGV[3] how long a turn lasts, in milliseconds   ARGV[4] now
-- Answers: nil when it is the owner's now | else about how many milliseconds it has to wait
local lock, line, turns = KEYS[1], KEYS[2], KEYS[3]
local owner, turn, now = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local function drop_the_late()
  local head = redis.call('LINDEX', line, 0)
  while head do
    local passes = redis.call('ZSCORE', turns, head)
    if not passes or tonumber(passes) > now then return head end
    redis.call('ZREM', turns, head)
    redis.call('LPOP', line)
    head = redis.call('LINDEX', line, 0)
  end
end

local head = drop_the_late()
if redis.call('EXISTS', lock) == 0 and (not head or head == owner) then
  redis.call('LPOP', line)
  redis.call('ZREM', turns, owner)
  for _, other in ipairs(redis.call('ZRANGE', turns, 0, -1)) do
    redis.call('ZINCRBY', turns, -turn, other)
  end
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, ARGV[1])
  return nil
end
if redis.call('HEXISTS', lock, owner) == 1 then
  redis.call('HINCRBY', lock, owner, 1)
  redis.call('PEXPIRE', lock, ARGV[1])
  return nil
end
if redis.call('ZSCORE', turns, owner) then return math.max(0, redis.call('PTTL', lock)) end

local last = redis.call('LINDEX', line, -1)
local passes = last and redis.call('ZSCORE', turns, last)
local wait = passes and tonumber(passes) - now or redis.call('PTTL', lock)
redis.call('ZADD', turns, now + wait + turn, owner)
redis.call('RPUSH', line, owner)
return wait
