-- Purpose: delete a lock, but only the caller's own.
-- KEYS[1]  the lock (string: its owner)
-- ARGV[1]  the owner who releases
-- Answers: 'released' | 'not-yours' (somebody else's, or gone)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 'released'
end
return 'not-yours'
