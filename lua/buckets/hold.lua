-- Purpose: hold a bucket for a time while the stock of its voucher is changed, or look whether it
--          is still held: it sells and lends nothing. The hold ends by itself, so that a process
--          that stands still stops no sale. A later hold replaces an earlier one.
-- KEYS[1]  voucher (hash of this bucket: stock, hold, heldUntilMs; change, changeBegunMs, refused:
--          lua/sale/change-voucher.lua)
-- KEYS[2]  buyers  (hash)   KEYS[3] epoch (string)
-- ARGV[1]  epoch under which the change was read, or ''
-- ARGV[2]  number of the change: 1, 2, … for each voucher
-- ARGV[3]  when MySQL began it, in milliseconds
-- ARGV[4]  number of the last change that MySQL has settled, or 0
-- ARGV[5]  the hold: a name that nobody else has
-- ARGV[6]  for how long, in milliseconds; '' to look
-- Answers: { 'held', stock, how many are sold, how many were when this change was refused, or '' }
--          | { 'not-held' } (to a look) | { 'later-change' }
--          | { 'unknown-voucher' } (absent or damaged) | { 'other-epoch' }
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return { 'other-epoch' } end
local kept = redis.call('HMGET', KEYS[1], 'stock', 'change', 'changeBegunMs', 'refused', 'hold',
  'heldUntilMs')
if not string.find(kept[1] or '', '^%d+$') then return { 'unknown-voucher' } end
local last = tonumber(kept[2]) or 0
local isSame = last == tonumber(ARGV[2]) and (kept[3] or ARGV[3]) == ARGV[3]
if not isSame and last > tonumber(ARGV[4]) then return { 'later-change' } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[1],
    'hold', ARGV[5], 'heldUntilMs', string.format('%d', nowMs + ARGV[6]))
elseif kept[5] ~= ARGV[5] or nowMs >= (tonumber(kept[6]) or 0) then
  return { 'not-held' }
end
local refused = isSame and kept[4] or ''
return { 'held', kept[1], tostring(redis.call('HLEN', KEYS[2])), refused }
