-- Purpose: read a sale in one step, since each purchase changes its stock and its buyers. A script
--          and not a MULTI, in which a Redis that is full refuses every command.
-- KEYS[1]  voucher (hash)   KEYS[2] buyers (hash)   KEYS[3] transfers (hash, of a bucket only)
-- ARGV     none
-- Answers: { 'sale', { field, value, … of the voucher }, how many buyers, { field, value, … of
--          the transfers } }
return { 'sale', redis.call('HGETALL', KEYS[1]), redis.call('HLEN', KEYS[2]),
  redis.call('HGETALL', KEYS[3]) }
