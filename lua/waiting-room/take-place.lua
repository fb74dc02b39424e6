-- Purpose: the place of a user in the waiting room of a voucher, and whether it is their turn. The
--          next place has its turn when a pass is used or lapses: so places are served in their
--          order, and as fast as the sale answers.
-- KEYS[1]  room   (hash: last: the last place that was taken; served: the last one that had its
--          turn; perSecond: how fast they were served, counted since measuredMs, from measured on)
-- KEYS[2]  places (hash: user id -> place)
-- KEYS[3]  passes (sorted set: place -> when its pass lapses, in milliseconds)
-- ARGV[1]  user id   ARGV[2] most passes at once; 0 while nothing is sold
-- ARGV[3]  how long a pass is kept, in milliseconds
-- ARGV[4]  until when places are kept, in milliseconds
-- Answers: { 'turn', place, served, when its pass lapses in milliseconds }
--          | { 'wait', place, served, how many have their turn in a second }
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', nowMs)
local room = redis.call('HMGET', KEYS[1], 'last', 'served', 'perSecond', 'measuredMs', 'measured')
local last, served, perSecond = tonumber(room[1]) or 0, tonumber(room[2]) or 0, room[3]
local measuredMs, measured = tonumber(room[4]) or 0, tonumber(room[5]) or 0

local place = tonumber(redis.call('HGET', KEYS[2], ARGV[1]))
local hadTurn = place and place <= served
if not place or (hadTurn and not redis.call('ZSCORE', KEYS[3], place)) then
  last = last + 1
  place = last
  redis.call('HSET', KEYS[2], ARGV[1], place)
end

local mostTurns = math.min(1000, ARGV[2] - redis.call('ZCARD', KEYS[3]), last - served)
if mostTurns > 0 then
  local turns, untilMs = {}, string.format('%d', nowMs + ARGV[3])
  for turn = served + 1, served + mostTurns do
    turns[#turns + 1] = untilMs
    turns[#turns + 1] = turn
  end
  redis.call('ZADD', KEYS[3], unpack(turns))
  redis.call('PEXPIRE', KEYS[3], 2 * ARGV[3])
  served = served + mostTurns
end

redis.call('HSET', KEYS[1], 'last', last, 'served', served)
if nowMs - measuredMs >= 2000 then
  perSecond = string.format('%.1f', (served - measured) * 1000 / (nowMs - measuredMs))
  redis.call('HSET', KEYS[1], 'perSecond', perSecond,
    'measuredMs', string.format('%d', nowMs), 'measured', served)
  redis.call('PEXPIREAT', KEYS[1], ARGV[4])
  redis.call('PEXPIREAT', KEYS[2], ARGV[4])
end
local lapsesMs = redis.call('ZSCORE', KEYS[3], place)
if lapsesMs then return { 'turn', place, served, lapsesMs } end
return { 'wait', place, served, perSecond }
