/**
 * Shares cooldowns between nodes through one Redis stream. Each node asks four times a second in the background for what
 * is new, and reads all that there is when it starts.
 */
import { Effect, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { makeScript, Redis } from "../store/redis.ts"
import type { CooldownCause } from "./cooldowns.ts"
import { makeTargetHealth, type SharedCooldowns, TargetHealth } from "./health.ts"

const key = "weir:{cooldowns}:new"
/** A stream has about as many: more than that cool down at once only where organisations have keys of their own. */
const mostKept = 10_000

/** Adds a cooldown. ARGV: target, cause, until. */
const publish = makeScript(`
redis.call("XADD", KEYS[1], "MAXLEN", "~", ${mostKept}, "*", "target", ARGV[1], "cause", ARGV[2], "until", ARGV[3])
redis.call("EXPIRE", KEYS[1], 7200)
return 0`)

/** Returns the id and the fields of each cooldown that was added. ARGV: the last id that is known. */
const added = makeScript(`
local read = redis.call("XREAD", "STREAMS", KEYS[1], ARGV[1])
return read and read[1][2] or {}`)

const decodeAdded = Schema.decodeUnknownSync(Schema.Array(Schema.Tuple([Schema.String, Schema.Array(Schema.String)])))

const makeSharedCooldowns = Effect.map(Redis, (redis): SharedCooldowns => {
  let lastId = "0-0"
  return {
    publish: (target, { cause, untilMs }) => Effect.ignore(redis.run(publish, [key], [target, cause, untilMs])),
    // If Redis does not answer, the last known cooldowns apply.
    added: Effect.suspend(() => redis.run(added, [key], [lastId])).pipe(
      Effect.map((reply) => {
        const entries = decodeAdded(reply)
        lastId = entries.at(-1)?.[0] ?? lastId
        return entries.flatMap(([, [, target = "", , cause = "", , untilMs]]) =>
          isCause(cause) ? [[target, { cause, untilMs: Number(untilMs) }] as const] : [],
        )
      }),
      Effect.catch(() => Effect.succeed([])),
    ),
  }
})

const isCause = (text: string): text is CooldownCause => text === "vendor" || text === "breaker"

/** For nodes that share a Redis. */
export const layerRedis: Layer.Layer<TargetHealth, never, Redis> = Layer.effect(
  TargetHealth,
  Effect.flatMap(makeSharedCooldowns, makeTargetHealth),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
