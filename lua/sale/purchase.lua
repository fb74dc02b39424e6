-- Purpose: the whole sale in one step: check the time window, the user and the stock, then
--          decrement and add the order to the stream. A repeated request (same request id) is still
--          one purchase.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs; soldOutBy: the order that took the last one;
--          reopensMs: stock that came back is not sold before)
-- KEYS[2]  buyers  (hash: user id -> 'order id:request id')
-- KEYS[3]  orders  (stream)
-- KEYS[4]  queued  (hash: order id -> 'voucher id:user id')
-- KEYS[5]  epoch   (string: that of the data)
-- ARGV[1]  order id   ARGV[2] voucher id   ARGV[3] user id   ARGV[4] request id
--          (strings, never converted)
-- ARGV[5]  the epoch that the caller knows, or '' when it knows none: then it is not checked
-- Answers: { word, order id }:
--          'accepted' (a repeated request gets the order id of the first one)
--          | 'already-ordered' (with the user's order) | 'not-started' | 'ended'
--          | 'unknown-voucher' (absent or damaged)
--          | 'other-epoch' (Redis is being rebuilt, was rebuilt, or has lost its data)
--          | 'sold-out', then two more: the order that took the last one, or '' when this answer
--            must not be remembered; the milliseconds until the end of the sale
--          or the error 'ORDERID is in use', when another order in the stream has this id
if ARGV[5] ~= '' and redis.call('GET', KEYS[5]) ~= ARGV[5] then return { 'other-epoch', '' } end

local voucher = redis.call('HMGET', KEYS[1], 'stock', 'beginMs', 'endMs', 'soldOutBy', 'reopensMs')
local stock, beginMs, endMs = tonumber(voucher[1]), tonumber(voucher[2]), tonumber(voucher[3])
if not (stock and beginMs and endMs) or not string.find(voucher[1], '^%d+$') then
  return { 'unknown-voucher', '' }
end

local bought = redis.call('HGET', KEYS[2], ARGV[3])
if bought then
  local orderId, requestId = string.match(bought, '^(%d+):(.*)$')
  if requestId == ARGV[4] then return { 'accepted', orderId } end
  return { 'already-ordered', orderId }
end

local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if nowMs < beginMs then return { 'not-started', '' } end
if nowMs >= endMs then return { 'ended', '' } end
if stock <= 0 then return { 'sold-out', '', voucher[4] or '', endMs - nowMs } end
if nowMs < (tonumber(voucher[5]) or 0) then return { 'sold-out', '', '', 0 } end

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
return { 'accepted', ARGV[1] }
