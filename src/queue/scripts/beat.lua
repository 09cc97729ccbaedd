-- Renews the leases of the jobs a worker runs, and puts jobs whose lease has lapsed back at the head of their lane.
-- KEYS: waiting list, data hash, leases of each lane. ARGV: lease in milliseconds, wake-up channel, most jobs to put
-- back in a lane, then lane index and id of each running job.
-- Returns how many jobs came back and how many wait.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 4, #ARGV, 2 do
  redis.call('ZADD', KEYS[ARGV[i] * 3 + 3], 'XX', now + ARGV[1], ARGV[i + 1])
end
local back = 0
local waiting = 0
for k = 1, #KEYS, 3 do
  local lapsed = redis.call('ZRANGEBYSCORE', KEYS[k + 2], '-inf', now, 'LIMIT', 0, ARGV[3])
  for i = #lapsed, 1, -1 do
    redis.call('ZREM', KEYS[k + 2], lapsed[i])
    redis.call('LPUSH', KEYS[k], lapsed[i])
    back = back + 1
  end
  waiting = waiting + redis.call('LLEN', KEYS[k])
end
if back > 0 then
  redis.call('PUBLISH', ARGV[2], '')
end
return { back, waiting }
