/** Encodes the files of a window in a thread of its own, which starts with the first rows and ends with the scope. */
import type { Worker } from "node:worker_threads"
import { Data, Effect, type Scope } from "effect"
import { startThread } from "../worker-thread.ts"
import { type FromEncoder, isFromEncoder, type ToEncoder } from "./encoder-protocol.ts"
import type { Row } from "./records.ts"
import type { WindowPlan, WrittenFile } from "./window-files.ts"

export class EncoderFailed extends Data.TaggedError("EncoderFailed")<{ readonly cause: unknown }> {}

export interface Encoder {
  readonly add: (rows: ReadonlyArray<Row>) => Effect.Effect<void, EncoderFailed>
  /** The next file of what was added; undefined after the last. No rows are added in between. */
  readonly next: Effect.Effect<WrittenFile | undefined, EncoderFailed>
}

export const makeEncoder = (plan: WindowPlan): Effect.Effect<Encoder, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new EncodingThread(plan)),
      (thread) => Effect.promise(() => thread.stop()),
    ),
    (thread) => ({
      add: (rows) => Effect.asVoid(thread.ask({ rows })),
      next: Effect.suspend(() =>
        thread.isStarted ? Effect.map(thread.ask({ next: true }), ({ file }) => file) : Effect.undefined,
      ),
    }),
  )

class EncodingThread {
  readonly #plan: WindowPlan
  #worker: Worker | undefined
  #answer: ((answer: Effect.Effect<FromEncoder, EncoderFailed>) => void) | undefined
  #failure: EncoderFailed | undefined

  constructor(plan: WindowPlan) {
    this.#plan = plan
  }

  get isStarted(): boolean {
    return this.#worker !== undefined
  }

  ask(message: ToEncoder): Effect.Effect<FromEncoder, EncoderFailed> {
    return Effect.callback((resume) => {
      if (this.#failure !== undefined) return resume(Effect.fail(this.#failure))
      this.#answer = resume
      this.#worker ??= this.#start()
      this.#worker.postMessage(message)
    })
  }

  async stop(): Promise<void> {
    this.#answer = undefined
    await this.#worker?.terminate()
  }

  #start(): Worker {
    return startThread(import.meta, "encoder-worker", {
      workerData: this.#plan,
      isMessage: isFromEncoder,
      onMessage: (message) => this.#answer?.(Effect.succeed(message)),
      onEnd: (cause) => this.#end(cause),
    })
  }

  #end(cause: unknown): void {
    this.#failure ??= new EncoderFailed({ cause })
    this.#answer?.(Effect.fail(this.#failure))
  }
}
