-- Takes a write and leaves nothing: a replica, or a server without memory or disk to spare, answers reads all the same.
-- KEYS: a key of no other use.
redis.call('SET', KEYS[1], '')
return redis.call('DEL', KEYS[1])
