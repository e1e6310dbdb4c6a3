/**
 * The one Lua call that admits a request. Keys of one owner share the hash tag `{owner}`, so that it runs on a cluster.
 *
 * KEYS: the nonce (if any), one a rate window, the idempotency record (if any).
 * ARGV: 1 has a nonce, 2 the nonce's window, 3 how many rate windows, then limit and length of each,
 *       then has a registration, its payload hash, its lease, its claim. Times in milliseconds.
 * Gives {"admitted"} | {"nonce"} | {"rate", which, ms left} | {"conflict"} | {"in_progress"} | {"replay", snapshot}
 *       | {"not_replayable"}.
 */
export const admitScript = `
local key, arg = 1, 4
local rates = tonumber(ARGV[3])
local nonce
if ARGV[1] == '1' then
  nonce = KEYS[1]
  key = 2
  if redis.call('EXISTS', nonce) == 1 then return {'nonce'} end
end
for i = 0, rates - 1 do
  local count = tonumber(redis.call('GET', KEYS[key + i]) or '0')
  if count >= tonumber(ARGV[arg + 2 * i]) then
    return {'rate', i, redis.call('PTTL', KEYS[key + i])}
  end
end
if nonce then redis.call('SET', nonce, '1', 'PX', ARGV[2]) end
for i = 0, rates - 1 do
  if redis.call('INCR', KEYS[key + i]) == 1 then
    redis.call('PEXPIRE', KEYS[key + i], ARGV[arg + 2 * i + 1])
  end
end
arg = arg + 2 * rates
if ARGV[arg] ~= '1' then return {'admitted'} end
local record = KEYS[key + rates]
local known = redis.call('HMGET', record, 'hash', 'state', 'snapshot')
if not known[1] then
  redis.call('HSET', record, 'hash', ARGV[arg + 1], 'state', 'in_progress', 'claim', ARGV[arg + 3])
  redis.call('PEXPIRE', record, ARGV[arg + 2])
  return {'admitted'}
end
if known[1] ~= ARGV[arg + 1] then return {'conflict'} end
if known[2] == 'in_progress' then return {'in_progress'} end
if known[3] then return {'replay', known[3]} end
return {'not_replayable'}
`

/** Marks a record completed, with its snapshot where there is one. ARGV: hash, time to live, has a snapshot, snapshot. */
export const completeScript = `
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'hash', ARGV[1], 'state', 'completed')
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'snapshot', ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`

/** Frees a record that is still in progress under this claim. ARGV: the claim. */
export const withdrawScript = `
local known = redis.call('HMGET', KEYS[1], 'state', 'claim')
if known[1] == 'in_progress' and known[2] == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`

/** Keeps a record that is still in progress under this claim. ARGV: the claim, the lease. */
export const renewScript = `
local known = redis.call('HMGET', KEYS[1], 'state', 'claim')
if known[1] == 'in_progress' and known[2] == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
`
