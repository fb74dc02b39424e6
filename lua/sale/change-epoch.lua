-- Purpose: end a rebuild of Redis: from now on it sells, under the new epoch. Not when another
--          rebuild has begun, or when the data are lost again.
-- KEYS[1]  epoch (string)
-- ARGV[1]  epoch that Redis has during this rebuild   ARGV[2] epoch that it has afterwards
-- Answers: 'changed' | 'other-epoch'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'other-epoch' end
redis.call('SET', KEYS[1], ARGV[2])
return 'changed'
