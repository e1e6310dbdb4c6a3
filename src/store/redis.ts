/** Redis or Redis Cluster through ioredis: one shared connection, pipelined; every call has its own deadline. */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { Redis as Client, Cluster } from "ioredis"
import { WeirConfig } from "../config.ts"
import { makeDeadlines } from "../deadlines.ts"
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
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/store/Redis") {
  /** Needs `SVC_REDIS_URL`: `redis://host:port/db`, or several URLs, separated by commas, for a cluster. */
  static readonly layer = Layer.effect(
    Redis,
    Effect.gen(function* () {
      const { redisUrl, redisDeadlineMs } = yield* WeirConfig
      if (redisUrl === undefined) return yield* Effect.die("Redis.layer needs SVC_REDIS_URL")
      // Loaded where there is a Redis: a start without it is shorter.
      const driver = yield* Effect.promise(() => import("ioredis"))
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => connect(driver, redisUrl, redisDeadlineMs)),
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
          Effect.catchTag("CircuitBreakerError", (cause) => failure(cause)),
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
      yield* Effect.tryPromise({
        try: () => ready(client),
        catch: (cause) => new StoreUnavailable({ store: "redis", cause }),
      })
      const collect = oneWriteATurn(client)
      return Redis.of({
        ping: Effect.asVoid(call(() => client.ping())),
        run: (script, keys, args) =>
          call(() => {
            collect()
            return client.evalsha(script.sha, keys.length, ...keys, ...args).catch((error: unknown) => {
              // A restarted Redis has no scripts loaded.
              if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error
              return client.eval(script.text, keys.length, ...keys, ...args)
            })
          }),
      })
    }),
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** What is sent to a single server in one turn of the event loop goes out in one write. */
const oneWriteATurn = (client: Client | Cluster) => () => {
  if (!("stream" in client) || client.stream.writableCorked > 0) return
  const { stream } = client
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** Consecutive failures that open the breaker, and for how long. */
const breakerFailures = 5
const breakerOpen = "500 millis"

function connect(
  driver: Pick<typeof import("ioredis"), "Redis" | "Cluster">,
  url: Redacted.Redacted,
  deadlineMs: number,
): Client | Cluster {
  const urls = Redacted.value(url).split(",")
  const options = {
    connectTimeout: connectDeadlineMs,
    socketTimeout: deadlineMs * deadDeadlines,
    maxRetriesPerRequest: 1,
    // Fail a command that cannot be sent now: do not queue commands while Redis is not reachable.
    enableOfflineQueue: false,
    // Callers no longer wait for commands that were sent on a broken connection.
    autoResendUnfulfilledCommands: false,
    retryStrategy: (tries: number) => Math.min(50 * tries, 1000),
  }
  const client =
    urls.length === 1
      ? new driver.Redis(urls[0] ?? "", options)
      : new driver.Cluster(urls, { redisOptions: options, enableOfflineQueue: false })
  // Each call reports its own failure; an "error" event without a listener would end the process.
  client.on("error", () => {})
  return client
}

const connectDeadlineMs = 5000
/** Deadlines after which a connection that is silent, and owes a reply, is left for a new one. */
const deadDeadlines = 5

const ready = (client: Client | Cluster): Promise<void> =>
  new Promise((resolve, reject) => {
    if (client.status === "ready") return resolve()
    const timer = setTimeout(() => reject(new Error("Redis is not reachable")), connectDeadlineMs)
    client.once("ready", () => {
      clearTimeout(timer)
      resolve()
    })
  })
