-- Purpose: set the stock to the initial stock minus the buyers, in one step with their count. Stock
--          of a voucher that was sold out is sold again only when no process can remember that any
--          more.
-- KEYS[1]  voucher (hash: stock, change, soldOutBy, reopensMs, …)   KEYS[2] buyers (hash)
-- KEYS[3]  epoch   (string)
-- ARGV[1]  epoch under which the data were read, or ''
-- ARGV[2]  initial stock
-- ARGV[3]  '1' when the stock may be raised; else it is only lowered
-- ARGV[4]  how long a voucher that was sold out stays so, in milliseconds
-- ARGV[5]  number of the change of an operator that the initial stock belongs to, or 0
-- Answers: 'corrected' | 'kept' | 'other-epoch' | 'unknown-voucher'
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return 'other-epoch' end
local kept = redis.call('HGET', KEYS[1], 'stock')
if not kept then return 'unknown-voucher' end
if (redis.call('HGET', KEYS[1], 'change') or '0') ~= ARGV[5] then return 'kept' end
local stock = tonumber(kept) or 0
local right = math.max(0, ARGV[2] - redis.call('HLEN', KEYS[2]))
if right == stock or (right > stock and ARGV[3] ~= '1') then return 'kept' end
redis.call('HSET', KEYS[1], 'stock', string.format('%d', right))
if stock <= 0 then
  local now = redis.call('TIME')
  local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('HSET', KEYS[1], 'reopensMs', string.format('%d', nowMs + ARGV[4]))
  redis.call('HDEL', KEYS[1], 'soldOutBy')
end
return 'corrected'
