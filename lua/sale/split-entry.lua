-- Purpose: end an entry of which only some orders are settled, once: each of the others gets an
--          entry of its own, and is delivered, counted and moved to the dead letters alone.
-- KEYS[1]  orders (stream)   KEYS[2] queued (hash: order id -> 'voucher id:user id')
-- ARGV[1]  consumer group   ARGV[2] entry id
-- ARGV[3]  how many orders are settled; then their ids
-- then     for each other order: the number of its fields and values, and these
--          (strings, never converted)
-- Answers: 'split' | 'not-pending' (another worker has settled or split it)
local at = 4 + ARGV[3]
local firstPart = at
local parts = {}
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  parts[#parts + 1] = { unpack(ARGV, at + 1, at + count) }
  at = at + count + 1
end
-- Lua does not roll back: what can fail is done. With too many fields, `unpack` has failed above,
-- so the caller splits off no part with more than 4,000 fields and values.
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 'not-pending' end
redis.call('XDEL', KEYS[1], ARGV[2])
for index = 4, firstPart - 1 do redis.call('HDEL', KEYS[2], ARGV[index]) end
for _, part in ipairs(parts) do redis.call('XADD', KEYS[1], '*', unpack(part)) end
return 'split'
