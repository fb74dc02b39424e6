-- Purpose: renew the lease of a reentrant lock, if its owner still holds it. An expired lock is not
--          acquired again.
-- KEYS[1]  the lock (hash: owner -> number of acquires)
-- ARGV[1]  lease in milliseconds   ARGV[2] owner
-- Answers: 1 when the lease is renewed | 0 when the owner does not hold the lock
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
