-- Purpose: undo the purchase of an order that can never be recorded, once. It runs only after MySQL
--          has the order's failed row, so that no worker can record the order later.
-- KEYS[1]  voucher (hash: stock, …)   KEYS[2] buyers (hash: user id -> 'order id:request id')
-- KEYS[3]  dead letters (stream)
-- ARGV[1]  order id   ARGV[2] voucher id   ARGV[3] user id
-- ARGV[4]  reason of the dead letter, or '' when the caller writes that itself
-- ARGV[5]  the number to add to stock
-- ARGV[6]  the user's other order ('order id:request id'), or ''
-- Answers: 'given-back' | 'already-given-back'
local bought = redis.call('HGET', KEYS[2], ARGV[3])
if not bought or string.match(bought, '^(%d+):') ~= ARGV[1] then return 'already-given-back' end
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[3], '*',
    'orderId', ARGV[1], 'voucherId', ARGV[2], 'userId', ARGV[3], 'reason', ARGV[4])
end
if ARGV[6] == '' then
  redis.call('HDEL', KEYS[2], ARGV[3])
else
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[6])
end
redis.call('HINCRBY', KEYS[1], 'stock', ARGV[5])
return 'given-back'
