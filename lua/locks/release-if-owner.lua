-- Purpose: release a lock, but only if the caller is its owner.
-- KEYS[1]  the lock (string: its owner)
-- ARGV[1]  the owner that releases
-- Answers: 'released' | 'not-yours' (another owner has it, or it has expired)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 'released'
end
return 'not-yours'
