-- Purpose: give each unsettled order of an entry an entry of its own, once: then it is delivered,
--          counted and moved to the dead letters alone, and the entry is done.
-- KEYS[1]  orders (stream)
-- ARGV[1]  consumer group   ARGV[2] entry id
-- ARGV[3]  for each order: the number of its fields and values, then these
--          (strings, never converted)
-- Answers: 'split' | 'not-pending' (another worker has settled or split it)
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 'not-pending' end
redis.call('XDEL', KEYS[1], ARGV[2])
local at = 3
while at < #ARGV do
  local count = tonumber(ARGV[at])
  redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, at + count))
  at = at + count + 1
end
return 'split'
