-- Tells whether this server has run the lanes since it last started or was emptied, and has it remember that it does.
-- KEYS: the mark. Returns 1 when the server did not know.
local info = redis.pcall('INFO', 'server')
-- A server that restarts from an old snapshot still has the mark, but runs under another name.
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or 'nameless'
if redis.call('GET', KEYS[1]) == run then
  return 0
end
redis.call('SET', KEYS[1], run)
return 1
