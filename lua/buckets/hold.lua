-- Purpose: hold a bucket for a time while the stock of its voucher is changed, or look whether it
--          is still held: it sells and lends nothing. The hold ends by itself, so that a process
--          that stands still stops no sale. A later hold replaces an earlier one.
-- KEYS[1]  voucher (hash of this bucket: stock, change, hold, heldUntilMs)
-- KEYS[2]  buyers  (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the change was read, or ''
-- ARGV[2]  number of the change: 1, 2, … for each voucher
-- ARGV[3]  the hold: a name that nobody else has
-- ARGV[4]  for how long, in milliseconds; '' to look
-- Answers: { 'held', stock, how many are sold } | { 'not-held' } (to a look)
--          | { 'later-change' } | { 'unknown-voucher' } (absent or damaged) | { 'other-epoch' }
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return { 'other-epoch' } end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change', 'hold', 'heldUntilMs')
if not string.find(kept[1] or '', '^%d+$') then return { 'unknown-voucher' } end
if (tonumber(kept[2]) or 0) > tonumber(ARGV[2]) then return { 'later-change' } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[1],
    'hold', ARGV[3], 'heldUntilMs', string.format('%d', nowMs + ARGV[4]))
elseif kept[3] ~= ARGV[3] or nowMs >= (tonumber(kept[4]) or 0) then
  return { 'not-held' }
end
return { 'held', kept[1], tostring(redis.call('HLEN', KEYS[2])) }
