-- Purpose: extend the lease of a reentrant lock, if its owner still holds it; one that has ended is not taken again.
-- KEYS[1]  the lock (hash: owner -> count)
-- ARGV[1]  lease in milliseconds   ARGV[2] owner
-- Answers: 1 when it is extended | 0 when the owner does not hold it
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
