-- Forgets a job that has run, wherever it is: its lease may have lapsed and the job may wait again.
-- KEYS: waiting list, data hash, leases. ARGV: id.
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then
  redis.call('LREM', KEYS[1], 1, ARGV[1])
end
return redis.call('HDEL', KEYS[2], ARGV[1])
