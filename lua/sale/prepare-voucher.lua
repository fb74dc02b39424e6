-- Purpose: prepare the sale of a voucher. A second call before the first sale changes nothing. A
--          sale that has begun under this id is another sale, such as that of an older database
--          that had the same ids: it stays as it is.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs, soldOutBy)
-- KEYS[2]  buyers  (hash: userId -> order)
-- ARGV[1]  stock   ARGV[2] beginMs   ARGV[3] endMs
-- Answers: 'prepared' | 'taken'
if redis.call('EXISTS', KEYS[2]) == 1 then return 'taken' end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'beginMs', 'endMs')
for field = 1, 3 do
  if kept[field] and kept[field] ~= ARGV[field] then return 'taken' end
end
redis.call('HSET', KEYS[1], 'stock', ARGV[1], 'beginMs', ARGV[2], 'endMs', ARGV[3])
-- It names this state, as an order does.
if ARGV[1] == '0' then redis.call('HSET', KEYS[1], 'soldOutBy', 'prepared') end
return 'prepared'
