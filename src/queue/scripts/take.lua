-- Takes the first job of the first lane that has one, on a lease.
-- KEYS: waiting list, data hash, leases of each lane, most urgent lane first. ARGV: lease in milliseconds.
-- Returns the index of the lane, id and submission; nothing when no job waits.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for k = 1, #KEYS, 3 do
  local id = redis.call('LPOP', KEYS[k])
  while id do
    local submission = redis.call('HGET', KEYS[k + 1], id)
    if submission then
      redis.call('ZADD', KEYS[k + 2], now + ARGV[1], id)
      return { (k - 1) / 3, id, submission }
    end
    id = redis.call('LPOP', KEYS[k])
  end
end
return false
