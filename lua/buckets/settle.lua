-- Purpose: close a transfer in the bucket that lent, after its units were put into the other one.
-- KEYS[1]  transfers (hash of this bucket: open:<borrower> -> 'number:units')
-- KEYS[2]  epoch     (string: that of the data)
-- ARGV[1]  number of the borrowing bucket   ARGV[2] number of the transfer
-- ARGV[3]  the epoch under which the units were taken out, or ''
-- Answers: 'settled' | 'not-open' | 'other-epoch'
if ARGV[3] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[3] then return 'other-epoch' end
local open = redis.call('HGET', KEYS[1], 'open:' .. ARGV[1])
if not open or string.match(open, '^(%d+):') ~= ARGV[2] then return 'not-open' end
redis.call('HDEL', KEYS[1], 'open:' .. ARGV[1])
return 'settled'
