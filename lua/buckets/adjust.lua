-- Purpose: change the stock of a bucket that is held. Stock of a bucket that was empty is sold
--          again only when no process can remember "sold out" any more.
-- KEYS[1]  voucher (hash of this bucket: stock, soldOutBy, reopensMs, hold, heldUntilMs; change,
--          changeBegunMs, refused: lua/sale/change-voucher.lua)
-- KEYS[2]  epoch   (string)
-- ARGV[1]  epoch under which the change was read, or ''   ARGV[2] the hold
-- ARGV[3]  units to add, or to take when it is negative
-- ARGV[4]  how long a bucket that was empty stays so, in milliseconds
-- ARGV[5]  '1' ends the hold
-- ARGV[6]  how many are sold, when the change is refused for that; else ''
-- ARGV[7]  number of the change   ARGV[8] when MySQL began it, in milliseconds
-- Answers: 'adjusted' | 'not-held' | 'other-epoch'
--          or the error 'STOCK is less than was counted'
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 'other-epoch' end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'hold', 'heldUntilMs')
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if kept[2] ~= ARGV[2] or nowMs >= (tonumber(kept[3]) or 0) then return 'not-held' end
local left = kept[1] + ARGV[3]
if left < 0 then return redis.error_reply('STOCK is less than was counted: ' .. kept[1]) end
if ARGV[3] ~= '0' then redis.call('HSET', KEYS[1], 'stock', string.format('%d', left)) end
if left > 0 and tonumber(kept[1]) == 0 then
  redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[4]))
  redis.call('HDEL', KEYS[1], 'soldOutBy')
elseif left == 0 and tonumber(kept[1]) > 0 then
  redis.call('HSET', KEYS[1], 'soldOutBy', ARGV[2]) -- It names this state, as an order does.
end
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[1],
    'refused', ARGV[6], 'change', ARGV[7], 'changeBegunMs', ARGV[8])
end
if ARGV[5] == '1' then redis.call('HDEL', KEYS[1], 'hold', 'heldUntilMs') end
return 'adjusted'
