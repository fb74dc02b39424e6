-- Purpose: remove idle consumers from the group of order workers. A consumer with pending orders
--          stays, because XGROUP DELCONSUMER would lose them.
-- KEYS[1]  orders (stream)
-- ARGV[1]  group   ARGV[2] least idle time in milliseconds
-- ARGV[3]  the only consumer to remove, or '' for all
-- Answers: 'removed'
for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for index = 1, #fields, 2 do consumer[fields[index]] = fields[index + 1] end
  local isMeant = ARGV[3] == '' or ARGV[3] == consumer.name
  if isMeant and consumer.pending == 0 and consumer.idle >= tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
  end
end
return 'removed'
