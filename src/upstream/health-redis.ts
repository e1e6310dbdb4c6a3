/**
 * Shares cooldowns between nodes through one Redis hash, which each node reads four times a second in the background.
 */
import { Effect, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeScript, Redis } from "../store/redis.ts"
import { type Cooldown, type CooldownCause, makeTargetHealth, type SharedCooldowns, TargetHealth } from "./health.ts"

const key = "weir:{cooldowns}"

/** Stores a cooldown if it is longer than the stored one. ARGV: target, cause, until. */
const publish = makeScript(`
local known = redis.call("HGET", KEYS[1], ARGV[1])
local untilMs = known and tonumber(string.match(known, "^%a+ (%d+)$")) or 0
if tonumber(ARGV[3]) > untilMs then redis.call("HSET", KEYS[1], ARGV[1], ARGV[2] .. " " .. ARGV[3]) end
redis.call("EXPIRE", KEYS[1], 7200)
return 0`)

/** Returns all cooldowns and deletes expired ones. ARGV: now. */
const all = makeScript(`
local cooldowns = redis.call("HGETALL", KEYS[1])
local now = tonumber(ARGV[1])
for at = 1, #cooldowns, 2 do
  local untilMs = tonumber(string.match(cooldowns[at + 1], "^%a+ (%d+)$"))
  if untilMs == nil or untilMs < now then redis.call("HDEL", KEYS[1], cooldowns[at]) end
end
return cooldowns`)

const decodeCooldowns = Schema.decodeUnknownSync(Schema.Array(Schema.String))

const makeSharedCooldowns = Effect.map(Redis, (redis): SharedCooldowns => {
  let last: ReadonlyMap<string, Cooldown> = new Map()
  return {
    publish: (target, { cause, untilMs }) => Effect.ignore(redis.run(publish, [key], [target, cause, untilMs])),
    // If Redis does not answer, the last known cooldowns apply.
    all: Effect.suspend(() => redis.run(all, [key], [Date.now()])).pipe(
      Effect.map((reply) => {
        last = readCooldowns(decodeCooldowns(reply))
        return last
      }),
      Effect.catch(() => Effect.succeed(last)),
    ),
  }
})

function readCooldowns(reply: ReadonlyArray<string>): ReadonlyMap<string, Cooldown> {
  const cooldowns = new Map<string, Cooldown>()
  for (let at = 0; at + 1 < reply.length; at += 2) {
    const [cause = "", untilMs] = reply[at + 1]?.split(" ") ?? []
    if (isCause(cause)) cooldowns.set(reply[at] ?? "", { cause, untilMs: Number(untilMs) })
  }
  return cooldowns
}

const isCause = (text: string): text is CooldownCause => text === "vendor" || text === "breaker"

/** For nodes that share a Redis. */
export const layerRedis: Layer.Layer<TargetHealth, never, Redis> = Layer.effect(
  TargetHealth,
  Effect.flatMap(makeSharedCooldowns, makeTargetHealth),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
