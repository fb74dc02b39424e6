-- Purpose: hold a bucket while the stock of its voucher is changed, and say what it has: it sells
--          and lends nothing until the hold ends. A later hold replaces an earlier one.
-- KEYS[1]  voucher (hash of this bucket: stock, paused, change)
-- KEYS[2]  buyers  (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the change was read, or ''
-- ARGV[2]  number of the change: 1, 2, … for each voucher
-- ARGV[3]  the hold: 'hold:' and a name that nobody else has
-- Answers: { 'held', stock, how many are sold } | { 'later-change' } | { 'unknown-voucher' }
--          | { 'other-epoch' }
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return { 'other-epoch' } end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change')
if not string.find(kept[1] or '', '^%d+$') then return { 'unknown-voucher' } end
if (tonumber(kept[2]) or 0) > tonumber(ARGV[2]) then return { 'later-change' } end
redis.call('HSET', KEYS[1], 'paused', ARGV[3])
return { 'held', kept[1], tostring(redis.call('HLEN', KEYS[2])) }
