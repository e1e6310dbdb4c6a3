/** Lua scripts of leased rates ({@link RateShares}). A window is a counter that ends by itself. */
import { restLastsMs, shareOfRest, windowToleranceMs } from "./rate-shares.ts"

/** Gives back what was not used of a window, unless another one has begun. */
const giveBack = `
local function giveBack(key, count, endMs, now)
  local left = redis.call('PTTL', key)
  if count <= 0 or left <= 0 or math.abs(now + left - endMs) >= ${windowToleranceMs} then return end
  redis.call('DECRBY', key, math.min(count, tonumber(redis.call('GET', key))))
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Counts a call in each window, and gives shares. KEYS: one per window. ARGV: JSON [[limit, ms, want, back, backEnd]].
 * Returns {"rate", index, ms left} | {"admitted", count, ms left, end, …}.
 */
export const shareScript = `${giveBack}
local asks = cjson.decode(ARGV[1])
local windows = {}
for i, ask in ipairs(asks) do
  giveBack(KEYS[i], ask[4], ask[5], now)
  local left = redis.call('PTTL', KEYS[i])
  local used = left > 0 and tonumber(redis.call('GET', KEYS[i])) or 0
  windows[i] = {used, left}
end
for i, ask in ipairs(asks) do
  if windows[i][1] >= ask[1] then return {'rate', i - 1, windows[i][2]} end
end
local reply = {'admitted'}
for i, ask in ipairs(asks) do
  local used, left = windows[i][1], windows[i][2]
  local rest, elapsed = ask[1] - used, left > 0 and ask[2] - left or 0
  local lasts = rest * elapsed > used * ${restLastsMs}
  local share = lasts and ask[3] * ${shareOfRest} < rest and ask[3] or 0
  redis.call('INCRBY', KEYS[i], 1 + share)
  if left <= 0 then
    left = ask[2]
    redis.call('PEXPIRE', KEYS[i], left)
  end
  reply[#reply + 1] = share
  reply[#reply + 1] = left
  reply[#reply + 1] = now + left
end
return reply
`

/** KEYS: a window. ARGV: the count, and when its window ends. */
export const unusedScript = `${giveBack}
giveBack(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), now)
return 1
`
