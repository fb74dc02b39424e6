-- Purpose: remove a dead letter, once, with the note of its replay. A script and not a MULTI, in
--          which a Redis that is full refuses every command: and this one frees memory.
-- KEYS[1]  dead letters (stream)   KEYS[2] replayed (hash: entry id -> the order of the replay)
-- ARGV[1]  entry id
-- Answers: { 'discarded', the order of its replay, or '' } | { 'unknown', '' }
local replayed = redis.call('HGET', KEYS[2], ARGV[1]) or ''
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return { 'unknown', '' } end
redis.call('HDEL', KEYS[2], ARGV[1])
return { 'discarded', replayed }
