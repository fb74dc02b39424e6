-- Purpose: extend a lease, but only the caller's own; one that has ended is not taken again.
-- KEYS[1]  the lease (string: its owner)
-- ARGV[1]  the owner   ARGV[2] how long from now, in milliseconds
-- Answers: 'renewed' | 'not-yours' (somebody else's, or gone)
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'renewed'
end
return 'not-yours'
