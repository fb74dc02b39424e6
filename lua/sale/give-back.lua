-- Purpose: undo the purchase of an order that can never be recorded, once. It runs only after MySQL
--          has the order's failed row, so that no worker can record the order later. Stock of a
--          voucher that was sold out is sold again only when no process can remember that any more.
-- KEYS[1]  voucher (hash: stock, soldOutBy, reopensMs, …)
-- KEYS[2]  buyers  (hash: user id -> 'order id:request id')
-- KEYS[3]  dead letters (stream)
-- ARGV[1]  order id   ARGV[2] voucher id   ARGV[3] user id
-- ARGV[4]  reason of the dead letter, or '' when the caller writes that itself
-- ARGV[5]  the number to add to stock
-- ARGV[6]  the user's other order ('order id:request id'), or ''
-- ARGV[7]  how long a voucher that was sold out stays so, in milliseconds
-- ARGV[8]  request id   ARGV[9] how often the order was delivered   (both for the dead letter,
--          and both may be missing)
-- Answers: 'given-back' | 'already-given-back'
local bought = redis.call('HGET', KEYS[2], ARGV[3])
if not bought or string.match(bought, '^(%d+):') ~= ARGV[1] then return 'already-given-back' end
-- Lua does not roll back: what can fail comes before the first write. A damaged stock stays as it
-- is, for reconcile: otherwise this order would be delivered, and refused, without end. A voucher
-- that Redis lost stays lost: stock alone is no voucher, and would hide the loss.
redis.call('XLEN', KEYS[3])
local stock = redis.pcall('HGET', KEYS[1], 'stock')
local isDamaged = type(stock) ~= 'string' or not string.find(stock, '^-?%d+$')
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[3], '*',
    'reason', ARGV[4], 'deliveries', ARGV[9] or '',
    'orderId', ARGV[1], 'voucherId', ARGV[2], 'userId', ARGV[3], 'requestId', ARGV[8] or '')
end
if ARGV[6] == '' then
  redis.call('HDEL', KEYS[2], ARGV[3])
else
  redis.call('HSET', KEYS[2], ARGV[3], ARGV[6])
end
if isDamaged then return 'given-back' end
redis.call('HINCRBY', KEYS[1], 'stock', ARGV[5])
if stock == '0' and ARGV[5] ~= '0' then
  local now = redis.call('TIME')
  local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[7]))
  redis.call('HDEL', KEYS[1], 'soldOutBy')
end
return 'given-back'
