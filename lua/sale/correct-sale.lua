-- Purpose: make a sale as MySQL has it: the values of the last change of an operator, and the
--          stock, which is the initial stock minus the buyers, in one step with their count. Stock
--          of a voucher that was sold out is sold again only when no process can remember that any
--          more.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs, paused, change, changeBegunMs, refused, soldOutBy,
--          reopensMs)
-- KEYS[2]  buyers (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the data were read, or ''
-- ARGV[2]  initial stock; '' leaves the stock as it is
-- ARGV[3]  '1' when the stock may be raised; else it is only lowered
-- ARGV[4]  how long a voucher that was sold out stays so, in milliseconds
-- ARGV[5]  number of the last change that Redis had when it was read, or 0
-- ARGV[6]  number of the last change that MySQL has, or 0   ARGV[7] when it was begun, or ''
-- ARGV[8]  beginMs   ARGV[9] endMs   ARGV[10] '1' when the sale is paused, else ''
-- Answers: 'corrected' | 'kept' (also when Redis has another change by now) | 'other-epoch'
--          | 'unknown-voucher'
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return 'other-epoch' end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change', 'beginMs', 'endMs', 'paused')
if not kept[1] then return 'unknown-voucher' end
if (kept[2] or '0') ~= ARGV[5] then return 'kept' end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local answer = 'kept'
if (kept[2] or '0') ~= ARGV[6] or kept[3] ~= ARGV[8] or kept[4] ~= ARGV[9]
  or (kept[5] or '') ~= ARGV[10] then
  redis.call('HSET', KEYS[1], 'change', ARGV[6], 'beginMs', ARGV[8], 'endMs', ARGV[9])
  redis.call('HDEL', KEYS[1], 'refused', 'changeBegunMs', 'paused')
  if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'changeBegunMs', ARGV[7]) end
  if ARGV[10] == '1' then redis.call('HSET', KEYS[1], 'paused', '1') end
  answer = 'corrected'
end
if ARGV[2] == '' then return answer end
local stock = tonumber(kept[1]) or 0
local right = math.max(0, ARGV[2] - redis.call('HLEN', KEYS[2]))
if right == stock or (right > stock and ARGV[3] ~= '1') then return answer end
redis.call('HSET', KEYS[1], 'stock', string.format('%d', right))
if stock <= 0 then
  redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[4]))
  redis.call('HDEL', KEYS[1], 'soldOutBy')
elseif right == 0 then -- It names this state, as an order does.
  redis.call('HSET', KEYS[1], 'soldOutBy', 'corrected:' .. string.format('%d', nowMs))
end
return 'corrected'
