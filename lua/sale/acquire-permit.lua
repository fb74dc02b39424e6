-- Purpose: take one permit of a semaphore, if there is one: the stock of a voucher is its permits.
-- KEYS[1]  voucher (hash: stock, …)
-- ARGV     none
-- Answers: 'acquired' | 'no-permit' | 'unknown-voucher' (absent or damaged)
local permits = tonumber(redis.call('HGET', KEYS[1], 'stock'))
if not permits then return 'unknown-voucher' end
if permits < 1 then return 'no-permit' end
redis.call('HINCRBY', KEYS[1], 'stock', -1)
return 'acquired'
