-- Purpose: put the units of a transfer into the bucket that borrows them, once: a number that is
--          not higher than the last one of this lender was put before.
-- KEYS[1]  voucher   (hash of this bucket: stock, …)
-- KEYS[2]  transfers (hash of this bucket: got:<lender> -> the number of the last transfer that was
--          put here; moves)
-- KEYS[3]  epoch     (string: that of the data)
-- ARGV[1]  number of the lending bucket   ARGV[2] number of the transfer   ARGV[3] units
-- ARGV[4]  the epoch under which the units were taken out, or ''
-- Answers: 'put' | 'already-put' | 'unknown-voucher' (absent or damaged) | 'other-epoch'
--          or the error 'TRANSFER is malformed'
if ARGV[4] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[4] then return 'other-epoch' end
if not string.find(ARGV[2] .. ':' .. ARGV[3], '^[1-9]%d*:[1-9]%d*$') then
  return redis.error_reply('TRANSFER is malformed: ' .. ARGV[2] .. ':' .. ARGV[3])
end
local stock = redis.call('HGET', KEYS[1], 'stock')
if not stock or not string.find(stock, '^%d+$') then return 'unknown-voucher' end
local kept = redis.call('HMGET', KEYS[2], 'got:' .. ARGV[1], 'moves')
if ARGV[2] - (kept[1] or 0) <= 0 then return 'already-put' end

-- Lua does not roll back: damaged moves must fail here, before the first write.
local moves = string.format('%d', (kept[2] or 0) + 1)
redis.call('HINCRBY', KEYS[1], 'stock', ARGV[3])
redis.call('HSET', KEYS[2], 'got:' .. ARGV[1], ARGV[2], 'moves', moves)
return 'put'
