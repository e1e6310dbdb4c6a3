/**
 * Shares cooldowns between nodes through one Redis hash. Each node asks four times a second in the background whether it
 * has changed, and reads it then.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeScript, Redis } from "../store/redis.ts"
import { type Cooldown, type CooldownCause, makeTargetHealth, type SharedCooldowns, TargetHealth } from "./health.ts"

/** The cooldowns by target, and their version, which changes with each of them. */
const keys = ["weir:{cooldowns}", "weir:{cooldowns}:version"]

/** Stores a cooldown if it is longer than the stored one. ARGV: target, cause, until, new version. */
const publish = makeScript(`
local known = redis.call("HGET", KEYS[1], ARGV[1])
local untilMs = known and tonumber(string.match(known, "^%a+ (%d+)$")) or 0
if tonumber(ARGV[3]) > untilMs then
  redis.call("HSET", KEYS[1], ARGV[1], ARGV[2] .. " " .. ARGV[3])
  redis.call("SET", KEYS[2], ARGV[4], "EX", 7200)
end
redis.call("EXPIRE", KEYS[1], 7200)
return 0`)

/** Returns the version and all cooldowns, and deletes expired ones; nothing if the version is known. ARGV: now, version. */
const all = makeScript(`
local version = redis.call("GET", KEYS[2]) or ""
if version == ARGV[2] then return {} end
local cooldowns = redis.call("HGETALL", KEYS[1])
local now = tonumber(ARGV[1])
for at = 1, #cooldowns, 2 do
  local untilMs = tonumber(string.match(cooldowns[at + 1], "^%a+ (%d+)$"))
  if untilMs == nil or untilMs < now then redis.call("HDEL", KEYS[1], cooldowns[at]) end
end
table.insert(cooldowns, 1, version)
return cooldowns`)

const decodeCooldowns = Schema.decodeUnknownSync(Schema.Array(Schema.String))

const makeSharedCooldowns = Effect.map(Redis, (redis): SharedCooldowns => {
  let last: ReadonlyMap<string, Cooldown> = new Map()
  let lastVersion = "none"
  return {
    publish: (target, { cause, untilMs }) =>
      Effect.ignore(Effect.suspend(() => redis.run(publish, keys, [target, cause, untilMs, randomUUID()]))),
    // If Redis does not answer, the last known cooldowns apply.
    all: Effect.suspend(() => redis.run(all, keys, [Date.now(), lastVersion])).pipe(
      Effect.map((reply) => {
        const [version, ...cooldowns] = decodeCooldowns(reply)
        if (version === undefined) return last
        lastVersion = version
        last = readCooldowns(cooldowns)
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
