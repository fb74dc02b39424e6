-- Purpose: tell for how long the oldest order waits to be recorded, by the clock of this Redis.
-- KEYS[1]  orders (stream)
-- ARGV     none
-- Answers: { 'waiting', the milliseconds } | { 'none' }
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not first then return { 'none' } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
return { 'waiting', math.max(0, nowMs - tonumber(string.match(first[1], '^%d+'))) }
