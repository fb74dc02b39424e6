-- Purpose: take one from stock for a user, in one step: check the time window, the user and the
--          stock, then decrement. The caller publishes the order afterwards. A repeated request
--          gets the order id of the first one.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs)
-- KEYS[2]  buyers  (hash: user id -> 'order id:request id')
-- ARGV[1]  order id   ARGV[2] user id   ARGV[3] request id   (strings, never converted)
-- Answers: { word, order id }:
--          'accepted' (a repeated request gets the order id of the first one)
--          | 'already-ordered' (with the user's order) | 'sold-out' | 'not-started' | 'ended'
--          | 'unknown-voucher' (absent or damaged)
local voucher = redis.call('HMGET', KEYS[1], 'stock', 'beginMs', 'endMs')
local stock, beginMs, endMs = tonumber(voucher[1]), tonumber(voucher[2]), tonumber(voucher[3])
if not (stock and beginMs and endMs) then return { 'unknown-voucher', '' } end
if stock < 0 or string.format('%d', stock) ~= voucher[1] then return { 'unknown-voucher', '' } end

local bought = redis.call('HGET', KEYS[2], ARGV[2])
if bought then
  local orderId, requestId = string.match(bought, '^(%d+):(.*)$')
  if requestId == ARGV[3] then return { 'accepted', orderId } end
  return { 'already-ordered', orderId }
end

local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if nowMs < beginMs then return { 'not-started', '' } end
if nowMs >= endMs then return { 'ended', '' } end
if stock <= 0 then return { 'sold-out', '' } end

redis.call('HSET', KEYS[2], ARGV[2], ARGV[1] .. ':' .. ARGV[3])
redis.call('HINCRBY', KEYS[1], 'stock', -1)
return { 'accepted', ARGV[1] }
