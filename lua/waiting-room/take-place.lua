-- Purpose: the place of a user in the waiting room of a voucher, and whether it is their turn.
--          Places are called in their order, as many as passes are free. A user who is called
--          takes a pass by asking. One who does not ask soon keeps the place, and the next ones
--          are called.
-- KEYS[1]  room    (hash: last: the last place that was taken; called: the last that was called;
--          fresh, before: how many were called since turnedMs, and in the second before it, and
--          did not ask yet; perSecond: how fast places are called, since measuredMs and from
--          measured on)
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
--          | { 'wait', place, called, how many are called in a second } | { 'ended' }
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local sale = redis.call('HMGET', KEYS[4], 'beginMs', 'endMs', 'paused')
local endMs = tonumber(sale[2]) or tonumber(ARGV[7])
if nowMs >= endMs then return { 'ended' } end
local isOpen = not sale[3] and nowMs >= (tonumber(sale[1]) or tonumber(ARGV[6]))
  and (ARGV[1] == '' or redis.call('GET', KEYS[5]) == ARGV[1])
local room = redis.call('HMGET', KEYS[1], 'last', 'called', 'fresh', 'before', 'turnedMs',
  'measuredMs', 'measured', 'perSecond')
for field = 1, 7 do room[field] = tonumber(room[field]) or 0 end
local last, called, fresh, before, turnedMs, measuredMs, measured, perSecond = unpack(room)

-- A pass is not lost while nothing can be bought with it.
local place, hadPass = string.match(redis.call('HGET', KEYS[2], ARGV[2]) or '', '^(%d+)(:?)$')
local lapsesMs = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]))
local hasPass = lapsesMs and (lapsesMs > nowMs or not isOpen)
local isNew = not place or (hadPass == ':' and not hasPass)
if isNew then last = last + 1 end
place = isNew and last or tonumber(place)

local turned, takes = isOpen and nowMs - turnedMs >= 1000, hasPass and not isOpen
if isOpen then
  if turned then before, fresh, turnedMs = nowMs - turnedMs < 2000 and fresh or 0, 0, nowMs end
  local free = ARGV[3] - redis.call('ZCOUNT', KEYS[3], nowMs, '+inf')
  local more = math.max(0, math.min(free - fresh - before, last - called))
  called, fresh = called + more, fresh + more
  takes = not hasPass and place <= called and free > 0
  if takes and before > 0 then before = before - 1
  elseif takes and fresh > 0 then fresh = fresh - 1 end
end

-- HSET comes first: Redis refuses it when its memory is full, and then nothing is written.
if isNew or turned or takes then
  local function text(number) return string.format('%d', number) end
  redis.call('HSET', KEYS[1], 'last', last, 'called', called, 'fresh', fresh, 'before', before,
    'turnedMs', text(turnedMs))
  if nowMs - measuredMs >= 2000 then
    perSecond = string.format('%.1f', (called - measured) * 1000 / (nowMs - measuredMs))
    redis.call('HSET', KEYS[1], 'perSecond', perSecond, 'measuredMs', text(nowMs),
      'measured', called)
  end
  if isNew or takes then redis.call('HSET', KEYS[2], ARGV[2], place .. (takes and ':' or '')) end
  if takes then
    lapsesMs, hasPass = nowMs + ARGV[4], true
    redis.call('ZADD', KEYS[3], text(lapsesMs), ARGV[2])
  end
  if isOpen then redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', nowMs) end
  redis.call('PEXPIREAT', KEYS[1], text(endMs + ARGV[5]))
  redis.call('PEXPIREAT', KEYS[2], text(endMs + ARGV[5]))
  redis.call('PEXPIREAT', KEYS[3], text(endMs + ARGV[5]))
end
if hasPass then return { 'turn', place, called, string.format('%d', lapsesMs) } end
return { 'wait', place, called, perSecond or '0' }
