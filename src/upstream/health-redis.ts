/**
 * Shares cooldowns between nodes through one Redis stream. Each node reads new cooldowns four times a second in the
 * background, and all of them when it starts.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { targetFaults } from "../dialects/vendor/faults.ts"
import { makeScript, Redis } from "../store/redis.ts"
import { cooldownCauses } from "./cooldowns.ts"
import { makeTargetHealth, type SharedCooldowns, TargetHealth } from "./health.ts"

const key = "weir:{cooldowns}:new"
/** The approximate length of the stream: more targets cool down at once only if organisations have keys of their own. */
const mostKept = 10_000

/** The time of the Redis server in milliseconds: nodes have clocks of their own. */
const nowLua = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** Adds a cooldown. ARGV: target, cause, milliseconds, refusals in a row, what the target lacks, the node. */
const publish = makeScript(`${nowLua}
redis.call("XADD", KEYS[1], "MAXLEN", "~", ${mostKept}, "*", "target", ARGV[1], "cause", ARGV[2], "until", string.format("%.0f", now + ARGV[3]),
  "count", ARGV[4], "reason", ARGV[5], "node", ARGV[6])
redis.call("EXPIRE", KEYS[1], 7200)
return 0`)

/** Returns the time, and the id and the fields of each cooldown that was added. ARGV: the last id that is known. */
const added = makeScript(`${nowLua}
local read = redis.call("XREAD", "STREAMS", KEYS[1], ARGV[1])
return {string.format("%.0f", now), read and read[1][2] or {}}`)

const Entries = Schema.Array(Schema.Tuple([Schema.String, Schema.Array(Schema.String)]))
const decodeAdded = Schema.decodeUnknownSync(Schema.Tuple([Schema.NumberFromString, Entries]))

const makeSharedCooldowns = Effect.map(Redis, (redis): SharedCooldowns => {
  let lastId = "0-0"
  const own = randomUUID()
  return {
    publish: (target, { cause, forMs, count, reason = "" }) =>
      Effect.ignore(redis.run(publish, [key], [target, cause, Math.ceil(forMs), count, reason, own])),
    // If Redis does not answer, the last known cooldowns apply.
    added: Effect.suspend(() => redis.run(added, [key], [lastId])).pipe(
      Effect.map((reply) => {
        const [nowMs, entries] = decodeAdded(reply)
        lastId = entries.at(-1)?.[0] ?? lastId
        return entries.flatMap(([, fields]) => {
          const { target = "", cause, until, count = 1, reason, node } = namesOf(fields)
          // The node knows more of its own: a call may have worked since.
          if (node === own) return []
          const forMs = Number(until) - nowMs
          if (!isCause(cause) || !(forMs > 0)) return []
          return [[target, { cause, forMs, count: Number(count), ...(isReason(reason) && { reason }) }] as const]
        })
      }),
      Effect.catch(() => Effect.succeed([])),
    ),
  }
})

/** An object from names and values in turn. */
const namesOf = (fields: ReadonlyArray<string>): Readonly<Partial<Record<string, string>>> =>
  Object.fromEntries(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? ""]] : [])))

const isCause = Schema.is(Schema.Literals(cooldownCauses))
const isReason = Schema.is(Schema.Literals(targetFaults))

/** The health of targets on nodes that share a Redis. */
export const layerRedis: Layer.Layer<TargetHealth, never, Redis> = Layer.effect(
  TargetHealth,
  Effect.flatMap(makeSharedCooldowns, makeTargetHealth),
).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
