-- Purpose: acknowledge and remove an entry that can never be recorded, and add its dead letter,
--          once. What frees memory comes first: then Redis takes the letter also when it is full.
-- KEYS[1]  orders (stream)   KEYS[2] queued (hash: order id -> 'voucher id:user id')
-- KEYS[3]  dead letters (stream)
-- ARGV[1]  consumer group   ARGV[2] entry id   ARGV[3] how many order ids: then these, and then the
--          fields and values of the letter, 7,000 at most
-- Answers: 'moved' | 'not-pending' (another worker has moved it)
-- Lua does not roll back: a key of a wrong type must fail before the first write.
redis.call('XLEN', KEYS[3])
local letter = { unpack(ARGV, 4 + ARGV[3]) }
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 'not-pending' end
redis.call('XDEL', KEYS[1], ARGV[2])
for at = 4, 3 + ARGV[3] do redis.call('HDEL', KEYS[2], ARGV[at]) end
redis.call('XADD', KEYS[3], '*', unpack(letter))
return 'moved'
