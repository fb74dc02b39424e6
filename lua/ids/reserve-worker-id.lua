-- Purpose: reserve a stretch of timestamps for one maker of order ids; nobody else may use them with this worker id.
--          Whoever comes next begins after the end of it, by its own clock: Redis's clock plays no part.
-- KEYS[1]  worker ids (hash: worker id -> 'end of the stretch in ms:owner')
-- ARGV[1]  worker id   ARGV[2] owner   ARGV[3] first ms   ARGV[4] end, not included
-- Answers: 'reserved' (also when it was the caller's own: its end moves) | 'taken' (another's stretch is not over)
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held then
  local endMs, owner = string.match(held, '^(%d+):(.*)$')
  if owner ~= ARGV[2] and endMs - ARGV[3] > 0 then return 'taken' end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4] .. ':' .. ARGV[2])
return 'reserved'
