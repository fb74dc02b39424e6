-- Purpose: acknowledge and remove entries whose orders are all settled, in one step: an
--          acknowledged entry that stayed would count as depth for ever. A script and not a MULTI,
--          in which a Redis that is full refuses every command: and this one frees memory.
-- KEYS[1]  orders (stream)   KEYS[2] queued (hash: order id -> 'voucher id:user id')
-- ARGV[1]  consumer group   ARGV[2] how many entries: then their ids, and the ids of their orders
-- Answers: 'settled'
local first = 3 + ARGV[2]
for at = 3, first - 1 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[at])
  redis.call('XDEL', KEYS[1], ARGV[at])
end
for at = first, #ARGV do redis.call('HDEL', KEYS[2], ARGV[at]) end
return 'settled'
