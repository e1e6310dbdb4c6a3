/**
 * `SVC_WORKERS`: several processes on one port, which share only the stores. A worker that dies is replaced, and
 * another node settles its exchanges; the other workers are not affected.
 */
import cluster, { type Worker } from "node:cluster"
import { rmSync } from "node:fs"
import { Duration, Effect, Option } from "effect"
import { isDevelopment, type WeirConfig } from "../config.ts"
import { writeWholeFile } from "../files/whole-file.ts"
import { WorkersFailed } from "./failed.ts"
import { mergeMetrics } from "./merge-metrics.ts"
import { type FromWorker, readFromWorker, type ToWorker } from "./messages.ts"
import { metricsPatience } from "./worker.ts"

type Settings = WeirConfig["Service"]
type Ready = Extract<FromWorker, { _tag: "Ready" }>["ready"]

/** The lifetime after which a worker is replaced without a pause. */
const wellMs = 10_000
const firstPauseMs = 200
const longestPauseMs = 10_000

/** Runs the workers until this process is stopped, and waits until they have drained. */
export const superviseWorkers = (config: Settings): Effect.Effect<void, WorkersFailed> =>
  Effect.callback<void, WorkersFailed>((resume) => {
    const missing = missingFor(config)
    if (missing !== undefined) {
      const message = `SVC_WORKERS above 1 needs ${missing}: workers share nothing but the stores`
      return resume(Effect.fail(new WorkersFailed({ message })))
    }
    const supervisor = new Supervisor(config, (outcome) => resume(outcome))
    supervisor.start()
    return supervisor.stop
  })

const missingFor = (config: Settings): string | undefined => {
  if (config.databaseUrl === undefined) return "SVC_DATABASE_URL"
  if (config.redisUrl === undefined) return "SVC_REDIS_URL"
  return isDevelopment(config) && config.catalogueFile === undefined ? "SVC_CATALOGUE (in development)" : undefined
}

class Supervisor {
  readonly #config: Settings
  readonly #fail: (outcome: Effect.Effect<never, WorkersFailed>) => void
  readonly #ready = new Set<Worker>()
  readonly #collections = new Map<number, (text: string) => void>()
  #pauseMs = firstPauseMs
  #lastCollection = 0
  #everReady = false
  #stopping = false

  constructor(config: Settings, fail: (outcome: Effect.Effect<never, WorkersFailed>) => void) {
    this.#config = config
    this.#fail = fail
  }

  start(): void {
    for (let count = 0; count < this.#config.workers; count++) this.#fork()
  }

  /** Stops every worker and waits for the last one. */
  readonly stop: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.#stopping = true
    const { readyFile } = this.#config
    if (readyFile !== undefined) rmSync(readyFile, { force: true })
    const alive = () => Object.values(cluster.workers ?? {}).length
    if (alive() === 0) return resume(Effect.void)
    cluster.on("exit", () => {
      if (alive() === 0) resume(Effect.void)
    })
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGTERM")
  })

  #fork(): void {
    const worker = cluster.fork()
    const startedAt = Date.now()
    worker.on("message", (message: unknown) => this.#receive(worker, message))
    worker.on("exit", (code, signal) => {
      this.#ready.delete(worker)
      if (this.#stopping) return
      // If no worker ever started, the next one would not start either.
      if (!this.#everReady) return this.#giveUp()
      console.error(`A worker ended (${signal ?? `code ${code}`}); another one takes its place`)
      this.#pauseMs = Date.now() - startedAt > wellMs ? firstPauseMs : Math.min(this.#pauseMs * 2, longestPauseMs)
      setTimeout(() => {
        if (!this.#stopping) this.#fork()
      }, this.#pauseMs)
    })
  }

  #giveUp(): void {
    this.#stopping = true
    const message = "The workers could not start"
    this.#fail(Effect.andThen(this.stop, Effect.fail(new WorkersFailed({ message }))))
  }

  #receive(worker: Worker, given: unknown): void {
    const message = Option.getOrUndefined(readFromWorker(given))
    switch (message?._tag) {
      case "Ready":
        this.#ready.add(worker)
        if (this.#ready.size === this.#config.workers) this.#announce(message.ready)
        return
      case "MetricsRequested":
        this.#collect((text) => send(worker, { _tag: "MetricsMerged", id: message.id, text }))
        return
      case "WorkerMetrics":
        this.#collections.get(message.id)?.(message.text)
        return
      case undefined:
    }
  }

  /** Announces readiness once, when all workers accept requests. */
  #announce(ready: Ready): void {
    if (this.#everReady) return
    this.#everReady = true
    console.log(`Weir listens on ${String(ready["baseUrl"])} with ${this.#config.workers} workers`)
    const { readyFile } = this.#config
    if (readyFile !== undefined) writeWholeFile(readyFile, `${JSON.stringify({ ...ready, pid: process.pid })}\n`)
  }

  /** Collects and merges metrics; a worker that does not answer in time is left out. */
  #collect(done: (text: string) => void): void {
    const id = ++this.#lastCollection
    const workers = [...this.#ready]
    const pages: Array<string> = []
    const finish = () => {
      clearTimeout(timer)
      if (this.#collections.delete(id)) done(mergeMetrics(pages))
    }
    const timer = setTimeout(finish, Duration.toMillis(metricsPatience))
    this.#collections.set(id, (text) => {
      if (pages.push(text) === workers.length) finish()
    })
    for (const worker of workers) send(worker, { _tag: "WorkerMetricsRequested", id })
  }
}

const send = (worker: Worker, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message)
}
