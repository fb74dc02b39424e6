-- Purpose: sell the order of a dead letter again, once, in one step: to the same user, under a new
--          order id, and only while stock is left. The old order stays failed, and its id is never
--          used again: a paused worker may still give back what the old id took.
-- KEYS[1]  voucher (hash: stock, reopensMs, heldUntilMs, soldOutBy, …)
-- KEYS[2]  buyers  (hash: user id -> 'order id:request id')
-- KEYS[3]  orders  (stream)
-- KEYS[4]  queued  (hash: order id -> 'voucher id:user id')
-- KEYS[5]  dead letters (stream)
-- KEYS[6]  replayed (hash: entry id of the letter -> the new order's id)
-- KEYS[7]  epoch   (string: that of the data)
-- ARGV[1]  new order id   ARGV[2] voucher id   ARGV[3] user id   ARGV[4] request id
-- ARGV[5]  entry id of the letter   ARGV[6] the epoch of MySQL
--          (strings, never converted)
-- Answers: { word, order id }:
--          'replayed' (with the new order) | 'already-replayed' (with the order of that replay)
--          | 'already-ordered' (with the user's order) | 'sold-out' | 'unknown-letter'
--          | 'unknown-voucher' (absent or damaged)
--          | 'other-epoch' (Redis has lost its data, or has not all of them yet)
--          | 'reopening' (stock came back or is changed, and is not sold yet), then one more: the
--            milliseconds until it is
--          or the error 'ORDERID is in use', when another order in the stream has this id
if redis.call('GET', KEYS[7]) ~= ARGV[6] then return { 'other-epoch', '' } end
local replayed = redis.call('HGET', KEYS[6], ARGV[5])
if replayed then return { 'already-replayed', replayed } end
if #redis.call('XRANGE', KEYS[5], ARGV[5], ARGV[5]) == 0 then return { 'unknown-letter', '' } end

local voucher = redis.call('HMGET', KEYS[1], 'stock', 'reopensMs', 'heldUntilMs')
local stock = tonumber(voucher[1])
local reopensMs = math.max(tonumber(voucher[2]) or 0, tonumber(voucher[3]) or 0)
if not stock or stock < 0 or string.format('%d', stock) ~= voucher[1] then
  return { 'unknown-voucher', '' }
end

local bought = redis.call('HGET', KEYS[2], ARGV[3])
if bought then return { 'already-ordered', string.match(bought, '^(%d+):') } end
if stock == 0 then return { 'sold-out', '' } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if nowMs < reopensMs then return { 'reopening', '', reopensMs - nowMs } end

-- Lua does not roll back. A key of a wrong type or a used order id must fail here, before the first
-- write.
if redis.call('HEXISTS', KEYS[4], ARGV[1]) == 1 then
  return redis.error_reply('ORDERID is in use: ' .. ARGV[1])
end
redis.call('XADD', KEYS[3], '*',
  'orderId', ARGV[1], 'voucherId', ARGV[2], 'userId', ARGV[3], 'requestId', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1] .. ':' .. ARGV[4])
redis.call('HSET', KEYS[4], ARGV[1], ARGV[2] .. ':' .. ARGV[3])
redis.call('HINCRBY', KEYS[1], 'stock', -1)
if stock == 1 then redis.call('HSET', KEYS[1], 'soldOutBy', ARGV[1]) end
redis.call('HSET', KEYS[6], ARGV[5], ARGV[1])
return { 'replayed', ARGV[1] }
