-- Purpose: the whole sale in one step, for one buyer of a voucher or for several at once, one after
--          the other: check the time window, the user and the stock, then decrement and add the
--          orders to the stream. A repeated request (same request id) is still one purchase.
-- KEYS[1]  voucher (hash: stock, beginMs, endMs;
--          paused: there while an operator has stopped the sale;
--          soldOutBy: the order that took the last unit;
--          reopensMs: stock that was given back is not sold before this time;
--          heldUntilMs: of a bucket only: until this time a change of its stock holds it)
-- KEYS[2]  buyers  (hash: user id -> 'order id:request id')
-- KEYS[3]  orders  (stream: the orders of one call are one entry, the fields of each in turn)
-- KEYS[4]  queued  (hash: order id -> 'voucher id:user id')
-- KEYS[5]  epoch   (string: that of the data)
-- ARGV[1]  the epoch that the caller knows, or '' when it knows none: then it is not checked
-- ARGV[2]  voucher id; then three for each buyer: order id, user id, request id
--          (strings, never converted)
-- Answers: for each buyer 1: accepted, with the order id that was given; or { word, order id }:
--          'accepted' (a repeated request: with the order id of the first one)
--          | 'already-ordered' (with the user's order) | 'not-started' | 'ended'
--          | 'sale-paused' | 'held' | 'unknown-voucher' (absent or damaged)
--          | 'other-epoch' (Redis is being rebuilt, was rebuilt, or has lost its data)
--          | 'sold-out', then two more: the order that took the last one, or '' when this answer
--            must not be remembered; the milliseconds until the end of the sale
--          | 'id-in-use' (another order in the stream has this id)
--          An error, and nothing is written, when an argument is missing.
if #ARGV < 5 or (#ARGV - 2) % 3 ~= 0 then
  return redis.error_reply('ERR each buyer has an order id, a user id and a request id')
end
local isOtherEpoch = ARGV[1] ~= '' and redis.call('GET', KEYS[5]) ~= ARGV[1]
local voucher = redis.call('HMGET', KEYS[1],
  'stock', 'beginMs', 'endMs', 'soldOutBy', 'reopensMs', 'paused', 'heldUntilMs')
local stock, beginMs, endMs = tonumber(voucher[1]), tonumber(voucher[2]), tonumber(voucher[3])
local isKnown = stock and beginMs and endMs and stock >= 0
  and string.format('%d', stock) == voucher[1] -- Otherwise HINCRBY fails, after the first write.
local soldOutBy, reopensMs, isPaused = voucher[4] or '', tonumber(voucher[5]) or 0, voucher[6]
local heldUntilMs = tonumber(voucher[7]) or 0
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)

-- All buyers are looked up with one command, and written with one: each command costs Redis time.
local orderIds, userIds, requestIds = {}, {}, {}
for at = 3, #ARGV, 3 do
  orderIds[#orderIds + 1] = ARGV[at]
  userIds[#userIds + 1] = ARGV[at + 1]
  requestIds[#requestIds + 1] = ARGV[at + 2]
end
local function byField(fields, values)
  local found = {}
  for index, field in ipairs(fields) do found[field] = values[index] end
  return found
end
local bought = byField(userIds, redis.call('HMGET', KEYS[2], unpack(userIds)))
local queued = byField(orderIds, redis.call('HMGET', KEYS[4], unpack(orderIds)))
local entry, newBought, newQueued = {}, {}, {} -- field, value, field, value, …
local function append(all, field, value)
  all[#all + 1] = field
  all[#all + 1] = value
end

local function sell(orderId, userId, requestId)
  if isOtherEpoch then return { 'other-epoch', '' } end
  if not isKnown then return { 'unknown-voucher', '' } end

  if bought[userId] then
    local boughtId, boughtBy = string.match(bought[userId], '^(%d+):(.*)$')
    if boughtBy == requestId then return { 'accepted', boughtId } end
    return { 'already-ordered', boughtId }
  end

  if nowMs < beginMs then return { 'not-started', '' } end
  if nowMs >= endMs then return { 'ended', '' } end
  if isPaused then return { 'sale-paused', '' } end
  if nowMs < heldUntilMs then return { 'held', '' } end
  if stock <= 0 then return { 'sold-out', '', soldOutBy, endMs - nowMs } end
  if nowMs < reopensMs then return { 'sold-out', '', '', 0 } end
  if queued[orderId] then return { 'id-in-use', '' } end

  bought[userId], queued[orderId] = orderId .. ':' .. requestId, ARGV[2] .. ':' .. userId
  append(newBought, userId, bought[userId])
  append(newQueued, orderId, queued[orderId])
  append(entry, 'orderId', orderId)
  append(entry, 'voucherId', ARGV[2])
  append(entry, 'userId', userId)
  append(entry, 'requestId', requestId)
  stock = stock - 1
  if stock == 0 then soldOutBy = orderId end
  return 1
end

local answers = {}
for index, orderId in ipairs(orderIds) do
  answers[index] = sell(orderId, userIds[index], requestIds[index])
end
if #entry > 0 then
  -- Lua does not roll back. A key of a wrong type has failed before, or fails at this first write.
  redis.call('XADD', KEYS[3], '*', unpack(entry))
  redis.call('HSET', KEYS[2], unpack(newBought))
  redis.call('HSET', KEYS[4], unpack(newQueued))
  redis.call('HINCRBY', KEYS[1], 'stock', -#newBought / 2)
  if stock == 0 then redis.call('HSET', KEYS[1], 'soldOutBy', soldOutBy) end
end
return answers
