-- Purpose: the place of a user in the waiting room of a voucher, and whether it is their turn.
--          Places are called in their order, as many as passes are free. A user who is called
--          takes a pass by asking. One who does not ask soon keeps the place, and the next ones
--          are called.
-- KEYS[1]  room    (hash: last: the last place that was taken; called: the last that was called;
--          awaited, lateAwaited: how many were called since secondMs, and in the second before it,
--          and did not ask yet; perSecond: how fast places are called, counted from the place
--          measured and since measuredMs)
-- KEYS[2]  places  (hash: user id -> place, or 'place:' once it had a pass)
-- KEYS[3]  passes  (sorted set: user id -> when the pass lapses, in milliseconds)
-- KEYS[4]  voucher (hash: beginMs, endMs, paused; absent where MySQL has the stock)
-- KEYS[5]  epoch   (string: that of the data)
-- ARGV[1]  the epoch that the caller knows, or '' when it knows none   ARGV[2] user id
-- ARGV[3]  most passes at once   ARGV[4] how long a pass is kept, in milliseconds
-- ARGV[5]  how long places are kept after the end of the sale, in milliseconds
-- ARGV[6]  begin of the sale in milliseconds   ARGV[7] its end in milliseconds: both where the
--          voucher does not say them
-- Answers: { 'turn', place, called, when the pass lapses in milliseconds }
--          | { 'wait', place, called, how many are called in a second, milliseconds until the
--          begin of the sale } | { 'ended' }
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local sale = redis.call('HMGET', KEYS[4], 'beginMs', 'endMs', 'paused')
local endMs = tonumber(sale[2]) or tonumber(ARGV[7])
if nowMs >= endMs then return { 'ended' } end
local beginMs = tonumber(sale[1]) or tonumber(ARGV[6])
local isOpen = not sale[3] and nowMs >= beginMs
  and (ARGV[1] == '' or redis.call('GET', KEYS[5]) == ARGV[1])
local room = redis.call('HMGET', KEYS[1], 'last', 'called', 'awaited', 'lateAwaited', 'secondMs',
  'measured', 'measuredMs', 'perSecond')
for field = 1, 7 do room[field] = tonumber(room[field]) or 0 end
local last, called, awaited, lateAwaited, secondMs = unpack(room)
local measured, measuredMs, perSecond = room[6], room[7], room[8] or '0'

-- A pass is not lost while nothing can be bought with it.
local place, hadPass = string.match(redis.call('HGET', KEYS[2], ARGV[2]) or '', '^(%d+)(:?)$')
local lapsesMs = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]))
local hasPass = lapsesMs and (lapsesMs > nowMs or not isOpen)
local isNew = not place or (hadPass == ':' and not hasPass)
if isNew then last = last + 1 end
place = isNew and last or tonumber(place)

local isNextSecond = isOpen and nowMs - secondMs >= 1000
local takesPass = hasPass and not isOpen
if isOpen then
  if isNextSecond then
    lateAwaited = nowMs - secondMs < 2000 and awaited or 0
    awaited, secondMs = 0, nowMs
  end
  local free = ARGV[3] - redis.call('ZCARD', KEYS[3]) -- Those that lapsed are removed each second.
  local more = math.max(0, math.min(free - awaited - lateAwaited, last - called))
  called, awaited = called + more, awaited + more
  takesPass = not hasPass and place <= called and free > 0
  if takesPass and lateAwaited > 0 then lateAwaited = lateAwaited - 1
  elseif takesPass and awaited > 0 then awaited = awaited - 1 end
end

-- HSET comes first: Redis refuses it when its memory is full, and then nothing is written.
if isNew or isNextSecond or takesPass then
  local function text(number) return string.format('%d', number) end
  redis.call('HSET', KEYS[1], 'last', last, 'called', called, 'awaited', awaited,
    'lateAwaited', lateAwaited, 'secondMs', text(secondMs))
  if nowMs - measuredMs >= 2000 then
    perSecond = string.format('%.1f', (called - measured) * 1000 / (nowMs - measuredMs))
    redis.call('HSET', KEYS[1], 'measured', called, 'measuredMs', text(nowMs),
      'perSecond', perSecond)
  end
  if isNew or takesPass then
    redis.call('HSET', KEYS[2], ARGV[2], place .. (takesPass and ':' or ''))
  end
  if takesPass then
    lapsesMs, hasPass = nowMs + ARGV[4], true
    redis.call('ZADD', KEYS[3], text(lapsesMs), ARGV[2])
  end
  if isOpen then redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', nowMs) end
  redis.call('PEXPIREAT', KEYS[1], text(endMs + ARGV[5]))
  redis.call('PEXPIREAT', KEYS[2], text(endMs + ARGV[5]))
  redis.call('PEXPIREAT', KEYS[3], text(endMs + ARGV[5]))
end
if hasPass then return { 'turn', place, called, string.format('%d', lapsesMs) } end
local untilBeginMs = math.max(0, beginMs - nowMs)
return { 'wait', place, called, perSecond, string.format('%d', untilBeginMs) }
