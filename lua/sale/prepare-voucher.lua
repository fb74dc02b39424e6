-- Purpose: prepare the sale of a voucher, once. A second call changes nothing, so that a running
--          sale keeps its stock.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs)
-- ARGV[1]  stock   ARGV[2] beginMs   ARGV[3] endMs
-- Answers: 'prepared' | 'already-prepared'
if redis.call('EXISTS', KEYS[1]) == 1 then return 'already-prepared' end
redis.call('HSET', KEYS[1], 'stock', ARGV[1], 'beginMs', ARGV[2], 'endMs', ARGV[3])
return 'prepared'
