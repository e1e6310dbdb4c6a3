/**
 * The Lua script that admits a request in one call. Keys of one owner share the hash tag `{owner}`, so it runs on a
 * cluster. All checks come before the first write: a refused request counts nothing.
 *
 * KEYS: the nonce (if any), one per rate window, one per daily count, then, if a request id is registered: its record
 * and since when records are kept without a gap; then, if a session is claimed: its record, the owner's active sessions,
 * the day's peaks.
 *
 * ARGV: one JSON object: {nonceMs?, rates: [[limit, ms]], counts: [limit], register?: {hash, leaseMs, claim, sinceMs},
 * session?: {id, caller, windowMs, cap, enforces, register, lastSeenMs?, retentionMs, hour, peaksMs}}.
 *
 * Returns {"admitted", entry or "", would reject?, remembers since} | {"nonce"} | {"rate", index, ms left} |
 * {"count", index, used} | {"conflict"} | {"in_progress"} | {"completed"} | {"not_replayable"} | {"full"} | {"archived"} |
 * {"foreign"} | {"unknown"}.
 *
 * The record of a request id is text: its state (in_progress, completed, not_replayable), the payload's hash, and, while
 * it is in progress, the claim.
 */
export const admitScript = `
local ask = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local key = 1
local function nextKey() key = key + 1 return KEYS[key - 1] end

local nonce
if ask.nonceMs then
  nonce = nextKey()
  if redis.call('EXISTS', nonce) == 1 then return {'nonce'} end
end
local rates = {}
for i, rate in ipairs(ask.rates) do
  rates[i] = nextKey()
  if tonumber(redis.call('GET', rates[i]) or '0') >= rate[1] then
    return {'rate', i - 1, redis.call('PTTL', rates[i])}
  end
end
local counts = {}
for i in ipairs(ask.counts) do counts[i] = nextKey() end

local record, known, since, remembers
if ask.register then
  record = nextKey()
  since = nextKey()
  known = redis.call('GET', record)
end
local claims = not known

-- A call that is answered again does not count.
for i, limit in ipairs(claims and ask.counts or {}) do
  local used = tonumber(redis.call('GET', counts[i]) or '0')
  if used >= limit then return {'count', i - 1, used} end
end

local session, active, peaks, entry, wouldReject
if ask.session then session, active, peaks = nextKey(), nextKey(), nextKey() end
if session and claims then
  local s = ask.session
  local seen = redis.call('HMGET', session, 'caller', 'state')
  local since = tonumber(redis.call('ZSCORE', active, s.id))
  if seen[1] then
    if seen[1] ~= s.caller then return {'foreign'} end
    if seen[2] == 'archived' then return {'archived'} end
  elseif s.lastSeenMs then
    since = s.lastSeenMs
  elseif not s.register then
    return {'unknown'}
  end
  if since and since > now - s.windowMs then
    entry = 'renewed'
  else
    entry = (seen[1] or s.lastSeenMs) and 'reentered' or 'registered'
    if s.cap and redis.call('ZCOUNT', active, '(' .. (now - s.windowMs), '+inf') >= s.cap then
      if s.enforces then return {'full'} end
      wouldReject = 1
    end
  end
end

if nonce then redis.call('SET', nonce, '1', 'PX', ask.nonceMs) end
for i, rate in ipairs(ask.rates) do
  if redis.call('INCR', rates[i]) == 1 then redis.call('PEXPIRE', rates[i], rate[2]) end
end
for i in ipairs(claims and ask.counts or {}) do
  if redis.call('INCR', counts[i]) == 1 then redis.call('PEXPIRE', counts[i], 172800000) end
end
if known then
  local state, hash = string.match(known, '^(%S+) (%S+)')
  if hash ~= ask.register.hash then return {'conflict'} end
  return {state}
end
if record then
  redis.call('SET', record, 'in_progress ' .. ask.register.hash .. ' ' .. ask.register.claim, 'PX', ask.register.leaseMs)
  -- If it is gone, earlier registrations may be gone as well.
  remembers = redis.call('GET', since)
  if not remembers then
    remembers = tostring(now)
    redis.call('SET', since, remembers, 'PX', ask.register.sinceMs)
  end
end
if not session then return {'admitted', '', 0, remembers or ''} end

local s = ask.session
redis.call('HSET', session, 'caller', s.caller, 'state', 'active')
redis.call('PEXPIRE', session, s.retentionMs)
redis.call('ZREMRANGEBYSCORE', active, '-inf', now - s.windowMs)
redis.call('ZADD', active, now, s.id)
redis.call('PEXPIRE', active, s.windowMs)
local size = redis.call('ZCARD', active)
if size > tonumber(redis.call('HGET', peaks, s.hour) or '0') then
  redis.call('HSET', peaks, s.hour, size)
  redis.call('PEXPIRE', peaks, s.peaksMs)
end
return {'admitted', entry, wouldReject or 0, remembers or ''}
`

/** Returns daily counts. KEYS: one per count. */
export const giveBackScript = `
for _, count in ipairs(KEYS) do
  if tonumber(redis.call('GET', count) or '0') > 0 then redis.call('DECR', count) end
end
return 1
`

/**
 * Ends a session. KEYS: its record, the owner's active sessions. ARGV: id, caller, "archive" or "forget", ms to keep.
 */
export const endSessionScript = `
redis.call('ZREM', KEYS[2], ARGV[1])
if ARGV[3] == 'forget' then
  redis.call('DEL', KEYS[1])
else
  redis.call('HSET', KEYS[1], 'caller', ARGV[2], 'state', 'archived')
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
`

/** Counts active sessions. KEYS: the owner's active sessions. ARGV: the window. */
export const activeSessionsScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZCOUNT', KEYS[1], '(' .. (now - ARGV[1]), '+inf')
`

/** The peaks of a day: alternating hours and counts. */
export const peaksScript = "return redis.call('HGETALL', KEYS[1])"

/** Marks a record completed. ARGV: state, hash, time to live. */
export const completeScript = "return redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])"

const isClaimed = "string.match(redis.call('GET', KEYS[1]) or '', '^in_progress %S+ (.+)$') == ARGV[1]"

/** Deletes a record that is still in progress under this claim. ARGV: the claim. */
export const withdrawScript = `
if ${isClaimed} then redis.call('DEL', KEYS[1]) end
return 1
`

/** Extends a record that is still in progress under this claim. ARGV: the claim, the lease. */
export const renewScript = `
if ${isClaimed} then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
`
