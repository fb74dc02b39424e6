-- Purpose: make users buyers again whose orders exist. A user who is a buyer stays so. Nothing is
--          written when Redis has other data than those that were read.
-- KEYS[1]  buyers (hash: user id -> 'order id:request id')   KEYS[2] epoch (string)
-- KEYS[3]  voucher (hash: soldOutBy, …)
-- ARGV[1]  epoch under which the data were read, or ''
-- ARGV[2]  a list in JSON: user id, 'order id:request id', user id, …
-- Answers: 'restored' | 'other-epoch'
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 'other-epoch' end
local buyers = cjson.decode(ARGV[2])
local last
for index = 1, #buyers, 2 do
  local isNew = redis.call('HSETNX', KEYS[1], buyers[index], buyers[index + 1]) == 1
  if isNew then last = buyers[index + 1] end
end

-- Instances that remember "sold out" know the buyers of that state: with another one it is another
-- state, and they read its buyers again.
if last and redis.call('HEXISTS', KEYS[3], 'soldOutBy') == 1 then
  redis.call('HSET', KEYS[3], 'soldOutBy', 'restored:' .. last)
end
return 'restored'
