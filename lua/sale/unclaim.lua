-- Purpose: give back what claim.lua took for an order that its queue did not take.
-- KEYS[1]  voucher (hash: stock, …)   KEYS[2] buyers (hash: user id -> 'order id:request id')
-- ARGV[1]  order id   ARGV[2] user id
-- Answers: 'unclaimed' | 'not-claimed' (the user has no such order)
local bought = redis.call('HGET', KEYS[2], ARGV[2])
if not bought or string.match(bought, '^(%d+):') ~= ARGV[1] then return 'not-claimed' end
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'stock', 1)
return 'unclaimed'
