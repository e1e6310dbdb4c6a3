/** Redis, Redis Cluster or Sentinel through ioredis: one shared connection, pipelined; every call has its own deadline. */
import { createHash } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { Redis as Client, Cluster } from "ioredis"
import { needsGateStore, WeirConfig } from "../config.ts"
import { makeDeadlines } from "../deadlines.ts"
import { currentSecret } from "../secret-files.ts"
import { connectToRedis, whenReady } from "./redis-connection.ts"
import { StoreUnavailable } from "./unavailable.ts"

export interface Script {
  readonly text: string
  readonly sha: string
}

export const makeScript = (text: string): Script => ({ text, sha: createHash("sha1").update(text).digest("hex") })

export class Redis extends Context.Service<
  Redis,
  {
    /** Runs a Lua script; all keys must share one hash tag. */
    readonly run: (
      script: Script,
      keys: ReadonlyArray<string>,
      args: ReadonlyArray<string | number>,
    ) => Effect.Effect<unknown, StoreUnavailable>
    /**
     * Succeeds if a script that writes would succeed now: it sends the same command as calls, so it also triggers the same
     * healing.
     */
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/store/Redis") {
  /** Needs `SVC_REDIS_URL`. A start without Redis is an error only if calls would be refused without it. */
  static readonly layer = Layer.effect(
    Redis,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const { redisUrl, redisTlsFiles, redisDeadlineMs } = config
      if (redisUrl === undefined) return yield* Effect.die("Redis.layer needs SVC_REDIS_URL")
      // Loaded where there is a Redis: a start without it is shorter.
      const driver = yield* Effect.promise(() => import("ioredis"))
      const place = {
        url: currentSecret("SVC_REDIS_URL", redisUrl),
        tlsFiles: redisTlsFiles,
        deadlineMs: redisDeadlineMs,
      }
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => connectToRedis(driver, place)),
        (client) => Effect.sync(() => client.disconnect()),
      )
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(breakerFailures),
        openDuration: breakerOpen,
      })
      // The driver's own timeout is a timer for each command, and makes a slow object of it.
      const deadlines = yield* makeDeadlines
      const failure = (cause: unknown) => Effect.fail(new StoreUnavailable({ store: "redis", cause }))
      const attempt = <A>(command: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
        Effect.callback((resume) => {
          const late = deadlines.after(redisDeadlineMs, () =>
            resume(failure(new Error("Redis did not answer in time"))),
          )
          const end = (result: Effect.Effect<A, StoreUnavailable>) => {
            deadlines.remove(late)
            resume(result)
          }
          command().then(
            (reply) => end(Effect.succeed(reply)),
            (cause) => end(failure(cause)),
          )
        })
      const guarded = <A>(call: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A, StoreUnavailable> =>
        call.pipe(
          breaker.execute({ key: "redis" }),
          Effect.catchTag("CircuitBreakerError", (cause) =>
            Effect.fail(new StoreUnavailable({ store: "redis", cause, wasDone: false })),
          ),
        )
      // A Redis that accepts connections but does not answer costs a few deadlines; then the breaker fails calls
      // immediately. It is asked only while the last call failed.
      let isSuspect = false
      const trust = Effect.sync(() => {
        isSuspect = false
      })
      const call = <A>(command: () => Promise<A>): Effect.Effect<A, StoreUnavailable> =>
        Effect.suspend(() => {
          if (isSuspect) return Effect.tap(guarded(attempt(command)), trust)
          return Effect.catch(attempt(command), (error) => {
            isSuspect = true
            return guarded(Effect.fail(error))
          })
        })
      const isReachable = Effect.tryPromise({
        try: () => whenReady(client),
        catch: (cause) => new StoreUnavailable({ store: "redis", cause }),
      })
      yield* needsGateStore(config)
        ? isReachable
        : Effect.catch(isReachable, () => Effect.logWarning("Redis is not reachable; calls are admitted without it"))
      const collect = oneWriteATurn(client)
      const run: Redis["Service"]["run"] = (script, keys, args) =>
        call(() => {
          collect()
          return client.evalsha(script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
            // A restarted Redis has no scripts loaded.
            if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error
            return client.eval(script.text, keys.length, ...keys, ...args)
          })
        })
      const pings = client.isCluster ? clusterPingKeys : clusterPingKeys.slice(0, 1)
      return Redis.of({
        ping: Effect.asVoid(Effect.raceAll(pings.map((key) => run(pingScript, [key], [pingKeepMs])))),
        run,
      })
    }),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** The probe of readiness: a replica, a full server, or one that is loading answers PING, but refuses this. */
const pingScript = makeScript("return redis.call('set', KEYS[1], '1', 'px', ARGV[1])")
const pingKeepMs = 60_000
/** A cluster is ready if one of these can be written: a node that is down refuses calls of some organisations only. */
const clusterPingKeys = Array.from({ length: 8 }, (_, at) => `weir:{ready-${at}}`)

/** Writes all commands to a single server of one turn of the event loop together. */
const oneWriteATurn = (client: Client | Cluster) => () => {
  if (!("stream" in client) || client.stream.writableCorked > 0) return
  const { stream } = client
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** The number of consecutive failures that open the breaker, and the time for which it stays open. */
const breakerFailures = 5
const breakerOpen = "500 millis"
