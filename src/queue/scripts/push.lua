-- Puts jobs at the end of a lane, each id once.
-- KEYS: waiting list, data hash. ARGV: wake-up channel, then id and submission of each job.
-- Returns 1 for a new job and 0 for a duplicate, in order.
local answers = {}
local added = false
for i = 2, #ARGV, 2 do
  local new = redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[i + 1])
  if new == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[i])
    added = true
  end
  answers[#answers + 1] = new
end
if added then
  redis.call('PUBLISH', ARGV[1], '')
end
return answers
