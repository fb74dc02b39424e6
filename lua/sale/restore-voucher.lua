-- Purpose: give a voucher its sale back, at the end of a rebuild of Redis, when all its buyers are
--          there. By then no process remembers that it was sold out.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs, paused, change, changeBegunMs, refused, soldOutBy,
--          reopensMs)
-- KEYS[2]  buyers (hash)
-- KEYS[3]  epoch   (string)
-- ARGV[1]  epoch that Redis has during this rebuild
-- ARGV[2]  the stock and the buyers together   ARGV[3] number of the last change of an operator,
--          or 0   ARGV[4] when it was begun, or ''   ARGV[5] beginMs   ARGV[6] endMs
-- ARGV[7]  '1' when the sale is paused, else ''
-- Answers: 'restored' | 'other-epoch'
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return 'other-epoch' end
local stock = math.max(0, ARGV[2] - redis.call('HLEN', KEYS[2]))
redis.call('HSET', KEYS[1],
  'stock', string.format('%d', stock), 'beginMs', ARGV[5], 'endMs', ARGV[6], 'change', ARGV[3])
redis.call('HDEL', KEYS[1], 'soldOutBy', 'reopensMs', 'paused', 'changeBegunMs', 'refused')
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'changeBegunMs', ARGV[4]) end
if ARGV[7] == '1' then redis.call('HSET', KEYS[1], 'paused', '1') end
if stock == 0 then redis.call('HSET', KEYS[1], 'soldOutBy', ARGV[1]) end
return 'restored'
