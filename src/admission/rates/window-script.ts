/**
 * Lua of sliding windows ({@link SlidingWindow}) and of calls at a time. A window is a hash: the sum of its parts, the oldest part that
 * counts (`from`), and each part by its number. Calls at a time are a hash: the number that each node holds, and until when.
 */
import { leastShareMs, mostShareMs, sharesOfWindow } from "./rate-shares.ts"
import { windowParts } from "./sliding-window.ts"

/** Needs `now`, in milliseconds of the store. */
export const windowFunctions = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function shareMs(windowMs)
  local ms = math.min(${mostShareMs}, math.floor(windowMs / ${sharesOfWindow}))
  return ms < ${leastShareMs} and 0 or ms
end

local function partsOf(key, first, last)
  local names, counts = {}, {}
  for part = first, last do names[#names + 1] = part end
  if #names > 0 then counts = redis.call('HMGET', key, unpack(names)) end
  return names, counts
end

-- A window without the parts that have left it.
local function look(key, windowMs)
  local partMs = math.max(1, math.ceil(windowMs / ${windowParts}))
  local kept = math.ceil(windowMs / partMs)
  local part = math.floor(now / partMs)
  local seen = redis.call('HMGET', key, 'sum', 'from')
  local w = {
    key = key, windowMs = windowMs, partMs = partMs, kept = kept, part = part,
    sum = tonumber(seen[1] or 0), from = tonumber(seen[2] or part),
  }
  local oldest = part - kept
  -- The clock went back by more than the window, as at another server: what was counted counts from now on.
  if seen[1] and w.from > part then
    redis.call('DEL', key)
    if w.sum > 0 then
      redis.call('HSET', key, 'sum', w.sum, 'from', part, part, w.sum)
      redis.call('PEXPIRE', key, windowMs + 3 * partMs + ${mostShareMs})
    end
    w.from = part
  elseif seen[1] and w.from < oldest then
    local names, counts = partsOf(key, w.from, math.min(oldest - 1, w.from + 3 * kept))
    for _, count in ipairs(counts) do w.sum = w.sum - tonumber(count or 0) end
    redis.call('HDEL', key, unpack(names))
    w.from = oldest
    redis.call('HSET', key, 'sum', w.sum, 'from', w.from)
  end
  return w
end

local function count(w, amount, part)
  w.sum = w.sum + amount
  redis.call('HINCRBY', w.key, part, amount)
  redis.call('HSET', w.key, 'sum', w.sum, 'from', w.from)
  redis.call('PEXPIRE', w.key, w.windowMs + 3 * w.partMs + ${mostShareMs})
end

local function takeBack(w, amount, part)
  if amount <= 0 or part < w.from then return end
  local less = math.min(amount, tonumber(redis.call('HGET', w.key, part) or 0))
  if less == 0 then return end
  w.sum = w.sum - less
  redis.call('HINCRBY', w.key, part, -less)
  redis.call('HSET', w.key, 'sum', w.sum)
end

-- The time until there is room; -1 if there never is.
local function untilRoom(w, amount, limit)
  if amount > limit then return -1 end
  local over = w.sum + amount - limit
  local names, counts = partsOf(w.key, w.from, w.part + 4)
  for i, count in ipairs(counts) do
    over = over - tonumber(count or 0)
    if over <= 0 then return (names[i] + w.kept + 1) * w.partMs - now end
  end
  return w.windowMs
end

-- The calls that other nodes hold.
local function heldByOthers(key, node)
  local held, all = 0, redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local calls, untilMs = string.match(all[i + 1], '^(%d+) (%d+)$')
    if tonumber(untilMs) <= now then
      redis.call('HDEL', key, all[i])
    elseif all[i] ~= node then
      held = held + tonumber(calls)
    end
  end
  return held
end

local function holdCalls(key, node, calls, leaseMs)
  if calls == 0 then return redis.call('HDEL', key, node) end
  redis.call('HSET', key, node, string.format('%.0f %.0f', calls, now + leaseMs))
  redis.call('PEXPIRE', key, leaseMs)
end
`

/** KEYS: windows. ARGV: the limit, the length and the amount of each. Returns {index, ms left or -1, used} of one without room, or {}. */
export const lookScript = `${windowFunctions}
for i, key in ipairs(KEYS) do
  local limit, amount = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i])
  local w = look(key, tonumber(ARGV[3 * i - 1]))
  if w.sum + amount > limit then return {i - 1, untilRoom(w, amount, limit), w.sum} end
end
return {}
`

/** KEYS: a window. ARGV: its length; the amount, which is below zero if it is taken back; then the part of it. */
export const correctScript = `${windowFunctions}
local w, amount = look(KEYS[1], tonumber(ARGV[1])), tonumber(ARGV[2])
if amount < 0 then takeBack(w, -amount, tonumber(ARGV[3])) else count(w, amount, w.part) end
return 1
`

/** KEYS: calls at a time. ARGV: the node, the number that it holds, its lease, and whether that is `exact` or `atLeast`. */
export const holdCallsScript = `${windowFunctions}
local calls = tonumber(ARGV[2])
if ARGV[4] == 'atLeast' then
  local known = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^%d+')
  calls = math.max(calls, tonumber(known or 0))
end
holdCalls(KEYS[1], ARGV[1], calls, tonumber(ARGV[3]))
return 1
`
