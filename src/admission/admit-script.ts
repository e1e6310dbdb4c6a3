import { shareOfFree } from "./rates/call-slots.ts"
import { roomLastsMs, shareOfRoom } from "./rates/rate-shares.ts"
import { windowFunctions } from "./rates/window-script.ts"

/**
 * The Lua script that admits a request in one call. Keys of one owner share the hash tag `{owner}`, so it runs on a
 * cluster. All checks come before the first count: a refused request counts nothing.
 *
 * KEYS: the nonce (if any), one per rate window, one per limit of calls at a time, one per daily count, then, if a request id is
 * registered: its record and since when records are kept without a gap; then, if a session is claimed: its record, the
 * owner's active sessions, the day's peaks.
 *
 * ARGV: one JSON object: {nonceMs?, node, slotMs, rates: [[limit, ms, amount, want, back, back part]], slots: [[limit, need, want]],
 * counts: [limit], register?: {hash, leaseMs, claim, sinceMs},
 * session?: {id, caller, windowMs, cap, enforces, register, lastSeenMs?, retentionMs, hour, peaksMs}}.
 *
 * Returns {"admitted", entry or "", would reject?, remembers since, grants…} | {"nonce"} | {"rate", index, ms left or -1, used} |
 * {"slot", index, used} | {"count", index, used} | {"conflict"} | {"in_progress", grants…} | {"completed", grants…} |
 * {"not_replayable"} | {"full"} | {"archived"} | {"foreign"} | {"unknown"}. Grants are {share, room, now, part} of each rate, and
 * the calls held of each limit.
 *
 * The record of a request id is text: its state (in_progress, completed, not_replayable), the payload's hash, and, while
 * it is in progress, the claim.
 */
export const admitScript = `
local ask = cjson.decode(ARGV[1])
${windowFunctions}
local key = 1
local function nextKey() key = key + 1 return KEYS[key - 1] end

local nonce
if ask.nonceMs then
  nonce = nextKey()
  if redis.call('EXISTS', nonce) == 1 then return {'nonce'} end
end
local rates, slots, counts = {}, {}, {}
for i, rate in ipairs(ask.rates) do
  rates[i] = look(nextKey(), rate[2])
  takeBack(rates[i], rate[5], rate[6])
end
for i in ipairs(ask.slots) do slots[i] = {key = nextKey()} end
for i in ipairs(ask.counts) do counts[i] = nextKey() end
for i, rate in ipairs(ask.rates) do
  if rates[i].sum + rate[3] > rate[1] then
    return {'rate', i - 1, untilRoom(rates[i], rate[3], rate[1]), rates[i].sum}
  end
end

local record, known, since, remembers
if ask.register then
  record = nextKey()
  since = nextKey()
  known = redis.call('GET', record)
end
local claims = not known

for i, slot in ipairs(claims and ask.slots or {}) do
  local others = heldByOthers(slots[i].key, ask.node)
  if others + slot[2] > slot[1] then return {'slot', i - 1, others + slot[2] - 1} end
  local free = slot[1] - others - slot[2]
  slots[i].calls = slot[2] + math.min(slot[3] - slot[2], math.floor(free / ${shareOfFree}))
end

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
local reply = {}
for i, rate in ipairs(ask.rates) do
  local w = rates[i]
  count(w, rate[3], w.part)
  local room, elapsed = rate[1] - w.sum, math.min(rate[2], (w.part - w.from) * w.partMs)
  local share = room * elapsed > w.sum * ${roomLastsMs} and rate[4] * ${shareOfRoom} < room and rate[4] or 0
  if share > 0 then count(w, share, math.floor((now + shareMs(rate[2])) / w.partMs)) end
  reply[#reply + 1] = share
  reply[#reply + 1] = room - share
  reply[#reply + 1] = now
  reply[#reply + 1] = w.part
end
for i in ipairs(claims and ask.counts or {}) do
  if redis.call('INCR', counts[i]) == 1 then redis.call('PEXPIRE', counts[i], 172800000) end
end
if known then
  local state, hash = string.match(known, '^(%S+) (%S+)')
  if hash ~= ask.register.hash then return {'conflict'} end
  return {state, unpack(reply)}
end
for i, slot in ipairs(slots) do
  holdCalls(slot.key, ask.node, slot.calls, ask.slotMs)
  reply[#reply + 1] = slot.calls
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
if not session then return {'admitted', '', 0, remembers or '', unpack(reply)} end

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
return {'admitted', entry, wouldReject or 0, remembers or '', unpack(reply)}
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
