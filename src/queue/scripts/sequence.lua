-- Hands the next sequence of an account out, each number once.
-- KEYS: the last one handed out. ARGV: the highest that the ledger knows to be used or held, the highest that may be
-- handed out, and whether to start over from the ledger ('anew') or to go on ('on').
-- Returns whether a usable last one was known, and the sequence as text; no sequence when the highest was handed out.
-- Numbers are compared and returned as digits: here a number keeps 53 bits, and sequences need 63.
local function below(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end
local known = redis.pcall('GET', KEYS[1])
if type(known) ~= 'string' or #known > 19 or not string.match(known, '^[1-9]%d*$') then
  known = false
end
local last = ARGV[1]
if known and ARGV[3] == 'on' and below(last, known) then
  last = known
end
if not below(last, ARGV[2]) then
  return { known and 1 or 0, false }
end
redis.call('SET', KEYS[1], last)
redis.call('INCR', KEYS[1])
return { known and 1 or 0, redis.call('GET', KEYS[1]) }
