-- Purpose: put the order of a buyer back into the stream, when it is in no place where a worker
--          would find it. An order that is there twice is recorded once.
-- KEYS[1]  buyers (hash: user id -> 'order id:request id')   KEYS[2] orders (stream)
-- KEYS[3]  queued (hash: order id -> 'voucher id:user id')   KEYS[4] epoch (string)
-- ARGV[1]  epoch under which the data were read, or ''
-- ARGV[2]  order id   ARGV[3] voucher id   ARGV[4] user id   ARGV[5] request id
-- Answers: 'queued' | 'not-a-buyer' | 'other-epoch'
if (redis.call('GET', KEYS[4]) or '') ~= ARGV[1] then return 'other-epoch' end
if redis.call('HGET', KEYS[1], ARGV[4]) ~= ARGV[2] .. ':' .. ARGV[5] then return 'not-a-buyer' end
redis.call('XADD', KEYS[2], '*',
  'orderId', ARGV[2], 'voucherId', ARGV[3], 'userId', ARGV[4], 'requestId', ARGV[5])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3] .. ':' .. ARGV[4])
return 'queued'
