-- Purpose: take half of what a bucket has out of it, for another bucket, or only look. The transfer
--          stays open here until it is settled. While it is open, the same borrower is answered
--          with it again, so a call that is sent twice takes once. Stock that came back and is not
--          sold yet is not lent either, and a bucket that is held lends nothing (hold.lua).
-- KEYS[1]  voucher   (hash of this bucket: stock, soldOutBy, reopensMs, heldUntilMs, …)
-- KEYS[2]  transfers (hash of this bucket: open:<borrower> -> 'number:units'; sent:<borrower> ->
--          the number of the last transfer to it; got:<lender>; moves -> how many went out or in)
-- KEYS[3]  epoch     (string: that of the data)
-- ARGV[1]  number of the borrowing bucket, or '' to look
-- ARGV[2]  the epoch that the caller knows, or '' when it knows none: then it is not checked
-- Answers: { word, … }:
--          'lent' (number of the transfer, units)
--          | 'empty' | 'reopening' | 'has-stock' (to a look, or held); each is followed by the
--            state of the bucket, by the order that took the last one or '', and by every open
--            transfer: borrower, 'number:units'
--          | 'unknown-voucher' (absent or damaged) | 'other-epoch'
if ARGV[2] ~= '' and redis.call('GET', KEYS[3]) ~= ARGV[2] then return { 'other-epoch' } end

local voucher = redis.call('HMGET', KEYS[1], 'stock', 'soldOutBy', 'reopensMs', 'heldUntilMs')
local stock, soldOutBy, reopensMs = voucher[1], voucher[2] or '', tonumber(voucher[3]) or 0
if not stock or not string.find(stock, '^%d+$') then return { 'unknown-voucher' } end

local kept, open = {}, {}
local fields = redis.call('HGETALL', KEYS[2])
for index = 1, #fields, 2 do
  kept[fields[index]] = fields[index + 1]
  local borrower = string.match(fields[index], '^open:(%d+)$')
  if borrower then
    open[#open + 1] = borrower
    open[#open + 1] = fields[index + 1]
  end
end
local again = kept['open:' .. ARGV[1]]
if again then
  local number, units = string.match(again, '^(%d+):(%d+)$')
  return { 'lent', number, units }
end

local state = (kept['moves'] or '0') .. ':' .. soldOutBy
if tonumber(stock) == 0 then return { 'empty', state, soldOutBy, unpack(open) } end
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
if nowMs < reopensMs then return { 'reopening', state, soldOutBy, unpack(open) } end
local isHeld = nowMs < (tonumber(voucher[4]) or 0)
if ARGV[1] == '' or isHeld then return { 'has-stock', state, soldOutBy, unpack(open) } end

local units = math.ceil(stock / 2)
local number = string.format('%d', (kept['sent:' .. ARGV[1]] or 0) + 1)
local moves = string.format('%d', (kept['moves'] or 0) + 1)
local left = redis.call('HINCRBY', KEYS[1], 'stock', -units)
redis.call('HSET', KEYS[2], 'sent:' .. ARGV[1], number, 'moves', moves,
  'open:' .. ARGV[1], number .. ':' .. string.format('%d', units))
-- It names this state of the bucket, as the order does that took the last one.
if left == 0 then
  redis.call('HSET', KEYS[1], 'soldOutBy', 'lent:' .. ARGV[1] .. ':' .. number .. ':' .. ARGV[2])
end
return { 'lent', number, string.format('%d', units) }
