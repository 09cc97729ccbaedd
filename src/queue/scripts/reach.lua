-- Keeps the highest mark of a ledger that anybody has seen.
-- KEYS: the mark. ARGV: epoch and line that the caller has seen.
-- Returns the highest, this one included. Both stay far below the 53 bits that a number keeps here.
local known = redis.pcall('GET', KEYS[1])
local epoch, line = string.match(type(known) == 'string' and known or '', '^(%d+):(%d+)$')
epoch, line = tonumber(epoch) or 0, tonumber(line) or 0
local seen_epoch, seen_line = tonumber(ARGV[1]), tonumber(ARGV[2])
if seen_epoch > epoch or (seen_epoch == epoch and seen_line > line) then
  redis.call('SET', KEYS[1], string.format('%d:%d', seen_epoch, seen_line))
  return { seen_epoch, seen_line }
end
return { epoch, line }
