-- Purpose: change the stock of a bucket that is held. Stock of a bucket that was empty is sold
--          again only when no process can remember "sold out" any more.
-- KEYS[1]  voucher (hash of this bucket: stock, paused, soldOutBy, reopensMs)
-- KEYS[2]  epoch   (string)
-- ARGV[1]  epoch under which the change was read, or ''   ARGV[2] the hold
-- ARGV[3]  units to add, or to take when it is negative: never more than the bucket has
-- ARGV[4]  how long a bucket that was empty stays so, in milliseconds
-- ARGV[5]  what follows: the hold, '1' for a pause, or '' for the sale
-- Answers: 'adjusted' | 'not-held' | 'other-epoch'
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 'other-epoch' end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'paused')
if kept[2] ~= ARGV[2] then return 'not-held' end
local left = kept[1] + ARGV[3]
if left < 0 then return redis.error_reply('STOCK of a held bucket cannot be taken twice') end
if ARGV[3] ~= '0' then redis.call('HSET', KEYS[1], 'stock', string.format('%d', left)) end
if left > 0 and tonumber(kept[1]) <= 0 then
  local now = redis.call('TIME')
  local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[4]))
  redis.call('HDEL', KEYS[1], 'soldOutBy')
elseif left == 0 and tonumber(kept[1]) > 0 then
  redis.call('HSET', KEYS[1], 'soldOutBy', ARGV[2]) -- It names this state, as an order does.
end
if ARGV[5] == '' then redis.call('HDEL', KEYS[1], 'paused')
else redis.call('HSET', KEYS[1], 'paused', ARGV[5]) end
return 'adjusted'
