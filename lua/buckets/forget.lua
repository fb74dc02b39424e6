-- Purpose: forget every transfer of a bucket, during a rebuild of Redis: its stock is set from the
--          orders afterwards. No transfer of the old epoch can be put or settled any more.
-- KEYS[1]  transfers (hash of this bucket)   KEYS[2] epoch (string)
-- ARGV[1]  epoch that Redis has during this rebuild
-- Answers: 'forgotten' | 'other-epoch'
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'other-epoch' end
redis.call('DEL', KEYS[1])
return 'forgotten'
