-- Purpose: apply a change of an operator to a sale, in one step with the count of its buyers. A
--          change that is applied again, or after a later one, changes nothing. Stock of a voucher
--          that was sold out is sold again only when no process can remember that any more.
--          A bucket whose stock was changed must still be held, and then sells on.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs, paused, change, soldOutBy, reopensMs; of a bucket
--          hold, heldUntilMs: lua/buckets/hold.lua)
-- KEYS[2]  buyers  (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the change was read, or ''
-- ARGV[2]  number of the change: 1, 2, … for each voucher
-- ARGV[3]  how many there are to sell, with those that are sold; '' leaves them as they are
-- ARGV[4]  beginMs   ARGV[5] endMs, or 'now'
-- ARGV[6]  '1' when nothing is sold until another change
-- ARGV[7]  how long a voucher that was sold out stays so, in milliseconds
-- ARGV[8]  the hold of a bucket whose stock was changed, or ''
-- Answers: { 'changed', endMs } | { 'below-sold', how many are sold } | { 'unknown-voucher', '' }
--          | { 'not-held', '' } | { 'other-epoch', '' }
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return { 'other-epoch', '' } end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change', 'endMs', 'hold', 'heldUntilMs')
if not kept[1] then return { 'unknown-voucher', '' } end
local later = (tonumber(kept[2]) or 0) - ARGV[2]
if later > 0 or (later == 0 and ARGV[8] == '') then return { 'changed', kept[3] } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if ARGV[8] ~= '' then
  local isHeld = kept[4] == ARGV[8] and nowMs < (tonumber(kept[5]) or 0)
  if not isHeld then return { 'not-held', '' } end
  redis.call('HDEL', KEYS[1], 'hold', 'heldUntilMs')
end
local endMs = ARGV[5] == 'now' and string.format('%d', nowMs) or ARGV[5]
if later == 0 then endMs = kept[3] end
if ARGV[3] ~= '' then
  local sold = redis.call('HLEN', KEYS[2])
  local left = ARGV[3] - sold
  if left < 0 then return { 'below-sold', tostring(sold) } end
  redis.call('HSET', KEYS[1], 'stock', string.format('%d', left))
  if (tonumber(kept[1]) or 0) <= 0 and left > 0 then
    redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[7]))
    redis.call('HDEL', KEYS[1], 'soldOutBy')
  end
end
redis.call('HSET', KEYS[1], 'beginMs', ARGV[4], 'endMs', endMs, 'change', ARGV[2])
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'paused', '1')
else
  redis.call('HDEL', KEYS[1], 'paused')
end
return { 'changed', endMs }
