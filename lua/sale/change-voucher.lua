-- Purpose: apply a change of an operator to a sale, in one step with the count of its buyers. A
--          change that is applied again changes nothing, and one that was refused is refused again.
--          Stock of a voucher that was sold out is sold again only when no process can remember
--          that any more. A bucket whose stock was changed must still be held, and then sells on.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs, paused, soldOutBy, reopensMs; change,
--          changeBegunMs: the last change; refused: how many were sold when it was refused;
--          of a bucket hold, heldUntilMs: lua/buckets/hold.lua)
-- KEYS[2]  buyers  (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the change was read, or ''
-- ARGV[2]  number of the change: 1, 2, … for each voucher   ARGV[3] when MySQL began it, in
--          milliseconds: another change has the same number when MySQL has lost its last changes
-- ARGV[4]  number of the last change that MySQL has settled, or 0
-- ARGV[5]  how many there are to sell, with those that are sold; '' leaves them as they are
-- ARGV[6]  beginMs   ARGV[7] endMs, or 'now'
-- ARGV[8]  '1' when nothing is sold until another change
-- ARGV[9]  how long a voucher that was sold out stays so, in milliseconds
-- ARGV[10] the hold of a bucket whose stock was changed, or ''
-- Answers: { 'changed', endMs } | { 'below-sold', how many are sold }
--          | { 'later-change', its number } (MySQL has settled it meanwhile, or has lost it)
--          | { 'unknown-voucher', '' } | { 'not-held', '' } | { 'other-epoch', '' }
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return { 'other-epoch', '' } end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change', 'changeBegunMs', 'refused', 'endMs',
  'hold', 'heldUntilMs')
if not kept[1] then return { 'unknown-voucher', '' } end
local last = tonumber(kept[2]) or 0
local isSame = last == tonumber(ARGV[2]) and (kept[3] or ARGV[3]) == ARGV[3]
if not isSame and last > tonumber(ARGV[4]) then return { 'later-change', kept[2] } end
if isSame and kept[4] then return { 'below-sold', kept[4] } end
if isSame and ARGV[10] == '' then return { 'changed', kept[5] } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if ARGV[10] ~= '' then
  local isHeld = kept[6] == ARGV[10] and nowMs < (tonumber(kept[7]) or 0)
  if not isHeld then return { 'not-held', '' } end
  redis.call('HDEL', KEYS[1], 'hold', 'heldUntilMs')
end
local endMs = ARGV[7] == 'now' and string.format('%d', nowMs) or ARGV[7]
if isSame then endMs = kept[5] end
local number = { 'change', ARGV[2], 'changeBegunMs', ARGV[3] }
if ARGV[5] ~= '' then
  local sold = redis.call('HLEN', KEYS[2])
  local left = ARGV[5] - sold
  if left < 0 then
    redis.call('HSET', KEYS[1], 'refused', tostring(sold), unpack(number))
    return { 'below-sold', tostring(sold) }
  end
  redis.call('HSET', KEYS[1], 'stock', string.format('%d', left))
  if (tonumber(kept[1]) or 0) <= 0 and left > 0 then
    redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[9]))
    redis.call('HDEL', KEYS[1], 'soldOutBy')
  elseif left == 0 and kept[1] ~= '0' then -- It names this state, as an order does.
    redis.call('HSET', KEYS[1], 'soldOutBy', 'change:' .. ARGV[2] .. ':' .. ARGV[3])
  end
end
redis.call('HSET', KEYS[1], 'beginMs', ARGV[6], 'endMs', endMs, unpack(number))
redis.call('HDEL', KEYS[1], 'refused', 'paused')
if ARGV[8] == '1' then redis.call('HSET', KEYS[1], 'paused', '1') end
return { 'changed', endMs }
