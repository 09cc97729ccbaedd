-- Puts a job that was not started back at the head of its lane.
-- KEYS: waiting list, data hash, leases. ARGV: id, wake-up channel.
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then
  return 0
end
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('PUBLISH', ARGV[2], '')
return 1
