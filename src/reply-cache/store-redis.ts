/** Stored replies of all nodes, in Redis. The keys of an organisation share a slot of a cluster. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, Layer } from "effect"
import { makeScript, Redis } from "../store/redis.ts"
import { type CachePlace, ReplyStore } from "./store.ts"

/** KEYS: the reply, the generation. */
const findScript = makeScript("return {redis.call('GET', KEYS[1]) or '', redis.call('GET', KEYS[2]) or ''}")

/** KEYS: the reply, the generation, the model's index, the owner's models. ARGV: generation, reply, ttl, now, model. */
const keepScript = makeScript(`
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[4])
redis.call('ZADD', KEYS[3], ARGV[4] + ARGV[3], KEYS[1])
redis.call('SADD', KEYS[4], ARGV[5])
for _, index in ipairs({KEYS[3], KEYS[4]}) do
  if redis.call('PTTL', index) < tonumber(ARGV[3]) then redis.call('PEXPIRE', index, ARGV[3]) end
end
return 1
`)

/** KEYS: the generation, the owner's models. ARGV: the new generation, ms to keep it. Returns the models. */
const beginClearScript = makeScript(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('SMEMBERS', KEYS[2])
`)

/** KEYS: a model's index. ARGV: the most replies to remove. Returns how many were removed, and how many were looked at. */
const clearScript = makeScript(`
local found = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)
if #found == 0 then return {0, 0} end
redis.call('ZREM', KEYS[1], unpack(found))
return {redis.call('UNLINK', unpack(found)), #found}
`)

/** A generation is remembered for longer than any reply is kept and any call runs. */
const generationMs = 2 * 86_400_000
const clearedAtOnce = 500

const generationKey = (owner: string) => `weir:{${owner}}:replies:generation`
const modelsKey = (owner: string) => `weir:{${owner}}:replies:models`
const indexKey = (owner: string, model: string) => `weir:{${owner}}:replies:of:${model}`
const replyKey = ({ owner, key }: CachePlace) => `weir:{${owner}}:reply:${key}`

const isList = (reply: unknown): reply is ReadonlyArray<unknown> => Array.isArray(reply)

export const layerRedis = Layer.effect(
  ReplyStore,
  Effect.gen(function* () {
    const redis = yield* Redis
    const clock = yield* Clock.Clock

    const clearModel = Effect.fnUntraced(function* (owner: string, model: string) {
      let removed = 0
      for (;;) {
        const reply = yield* redis.run(clearScript, [indexKey(owner, model)], [clearedAtOnce])
        const [gone = 0, looked = 0] = isList(reply) ? reply.map(Number) : []
        removed += gone
        if (looked < clearedAtOnce) return removed
      }
    })

    return ReplyStore.of({
      find: (place) =>
        Effect.map(redis.run(findScript, [replyKey(place), generationKey(place.owner)], []), (reply) => {
          const [text, generation] = isList(reply) ? reply : []
          const sealed = typeof text === "string" && text !== "" ? Buffer.from(text, "base64") : undefined
          return { sealed, generation: String(generation ?? "") }
        }),
      keep: (place, sealed, ttlMs, generation) => {
        const { owner, model } = place
        const keys = [replyKey(place), generationKey(owner), indexKey(owner, model), modelsKey(owner)]
        const args = [generation, sealed.toString("base64"), ttlMs, clock.currentTimeMillisUnsafe(), model]
        return Effect.asVoid(redis.run(keepScript, keys, args))
      },
      clear: Effect.fnUntraced(function* (owner, model) {
        const keys = [generationKey(owner), modelsKey(owner)]
        const found = yield* redis.run(beginClearScript, keys, [randomUUID(), generationMs])
        const models = isList(found) ? found.map(String) : []
        let removed = 0
        for (const each of models) if (model === undefined || each === model) removed += yield* clearModel(owner, each)
        return removed
      }),
      forget: () => {},
    })
  }),
)
