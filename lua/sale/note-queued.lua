-- Purpose: note an order of the stream as queued, so that its user is told so. Not when a worker
--          has removed it meanwhile: the note would stay for ever.
-- KEYS[1]  orders (stream)   KEYS[2] queued (hash: order id -> 'voucher id:user id')
-- ARGV[1]  entry id   ARGV[2] order id   ARGV[3] voucher id   ARGV[4] user id
-- Answers: 'noted' | 'not-queued'
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then return 'not-queued' end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ':' .. ARGV[4])
return 'noted'
