-- Purpose: reserve a stretch of timestamps for one generator of order ids. Until its end, no other
--          process may use these timestamps with this worker id. The next owner begins after the
--          end, by its own clock; Redis's clock is not used.
-- KEYS[1]  worker ids (hash: worker id -> 'end of the stretch in ms:owner')
-- ARGV[1]  worker id   ARGV[2] owner   ARGV[3] first ms   ARGV[4] end, not included
-- Answers: 'reserved' (also when the caller owned it already: its end moves)
--          | 'taken' (the stretch of another owner has not ended)
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held then
  local endMs, owner = string.match(held, '^(%d+):(.*)$')
  if owner ~= ARGV[2] and endMs - ARGV[3] > 0 then return 'taken' end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4] .. ':' .. ARGV[2])
return 'reserved'
