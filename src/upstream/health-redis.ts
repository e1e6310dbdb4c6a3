/** Shares cooldowns between nodes through one Redis hash, which each node reads four times a second in the background. */
import { Effect, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeScript, Redis } from "../store/redis.ts"
import { makeTargetHealth, type Rest, type RestCause, type SharedRests, TargetHealth } from "./health.ts"

const key = "weir:{rests}"

/** Stores a cooldown if it is longer than the stored one. ARGV: target, cause, until. */
const tell = makeScript(`
local known = redis.call("HGET", KEYS[1], ARGV[1])
local untilMs = known and tonumber(string.match(known, "^%a+ (%d+)$")) or 0
if tonumber(ARGV[3]) > untilMs then redis.call("HSET", KEYS[1], ARGV[1], ARGV[2] .. " " .. ARGV[3]) end
redis.call("EXPIRE", KEYS[1], 7200)
return 0`)

/** Returns all cooldowns and deletes expired ones. ARGV: now. */
const all = makeScript(`
local rests = redis.call("HGETALL", KEYS[1])
local now = tonumber(ARGV[1])
for at = 1, #rests, 2 do
  local untilMs = tonumber(string.match(rests[at + 1], "^%a+ (%d+)$"))
  if untilMs == nil or untilMs < now then redis.call("HDEL", KEYS[1], rests[at]) end
end
return rests`)

const decodeRests = Schema.decodeUnknownSync(Schema.Array(Schema.String))

const makeSharedRests = Effect.map(Redis, (redis): SharedRests => {
  let last: ReadonlyMap<string, Rest> = new Map()
  return {
    tell: (target, { cause, untilMs }) => Effect.ignore(redis.run(tell, [key], [target, cause, untilMs])),
    // If Redis does not answer, the last known cooldowns apply.
    all: Effect.suspend(() => redis.run(all, [key], [Date.now()])).pipe(
      Effect.map((reply) => {
        last = readRests(decodeRests(reply))
        return last
      }),
      Effect.catch(() => Effect.succeed(last)),
    ),
  }
})

function readRests(reply: ReadonlyArray<string>): ReadonlyMap<string, Rest> {
  const rests = new Map<string, Rest>()
  for (let at = 0; at + 1 < reply.length; at += 2) {
    const [cause = "", untilMs] = reply[at + 1]?.split(" ") ?? []
    if (isCause(cause)) rests.set(reply[at] ?? "", { cause, untilMs: Number(untilMs) })
  }
  return rests
}

const isCause = (text: string): text is RestCause => text === "vendor" || text === "breaker"

/** For nodes that share a Redis. */
export const layerRedis: Layer.Layer<TargetHealth, never, Redis> = Layer.effect(
  TargetHealth,
  Effect.flatMap(makeSharedRests, makeTargetHealth),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
