/** Reads catalogues without blocking the event loop: large ones in a thread, which ends when it was idle for a while. */
import { Data, Effect, Result, type Scope, Semaphore } from "effect"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import { startThread } from "../worker-thread.ts"
import { type Declared, joinDeclared, nothingDeclared } from "./declared.ts"
import { joinPart } from "./patch.ts"
import { type FromReader, isFromReader, type ToReader } from "./reader-protocol.ts"
import { type Reading, readStored, readText, type TextOptions } from "./reading.ts"
import { CatalogueRefused } from "./refusal.ts"

/** A stored catalogue that this version cannot read. */
export class CatalogueUnreadable extends Data.TaggedError("CatalogueUnreadable")<{ readonly cause: unknown }> {}

export interface CatalogueReader {
  /**
   * Stored catalogues stay bytes here: decoding a large one takes longer than a stream may wait.
   * @param known the catalogue in force, as it is stored
   */
  readonly text: (text: string, known: Uint8Array, options: TextOptions) => Effect.Effect<Reading, ReadError>
  readonly stored: (json: Uint8Array, known: Uint8Array) => Effect.Effect<Reading, CatalogueUnreadable>
}

/** A shorter catalogue is read within some milliseconds; starting a thread takes longer. */
const smallBytes = 16 * 1024
const idleMs = 30_000

export const makeCatalogueReader: Effect.Effect<CatalogueReader, never, Scope.Scope> = Effect.gen(function* () {
  // The first reading takes three times as long as the next, because schemas are compiled: not while streams are open.
  readText("version: 1", new Uint8Array())
  const oneAtATime = yield* Semaphore.make(1)
  let thread: ReadingThread | undefined
  let idle: NodeJS.Timeout | undefined
  const stop = () => {
    clearTimeout(idle)
    thread?.stop()
    thread = undefined
  }
  yield* Effect.addFinalizer(() => Effect.sync(stop))

  const ask = (request: ReadRequest) =>
    Effect.callback<Reading, ReadError>((resume) => {
      clearTimeout(idle)
      if (thread === undefined || thread.isEnded) thread = new ReadingThread()
      thread.read(request, (answer) => {
        idle = setTimeout(stop, idleMs).unref()
        resume(answer)
      })
      return Effect.sync(stop)
    }).pipe(oneAtATime.withPermits(1))

  const isSmall = (input: string | Uint8Array, known: Uint8Array) => input.length + known.length <= smallBytes
  return {
    text: (input, known, options) => {
      if (!isSmall(input, known)) return ask({ kind: "text", input, known, options })
      return Effect.suspend(() => {
        const read = readText(input, known, options)
        return Result.isSuccess(read)
          ? Effect.succeed(read.success)
          : Effect.fail(new CatalogueRefused({ issues: read.failure }))
      })
    },
    stored: (input, known) =>
      isSmall(input, known)
        ? Effect.try({
            try: () => readStored(input, known),
            catch: (cause) => new CatalogueUnreadable({ cause }),
          })
        : Effect.catchTag(ask({ kind: "stored", input, known }), "CatalogueRefused", (cause) =>
            Effect.fail(new CatalogueUnreadable({ cause })),
          ),
  }
})

type ReadRequest = Exclude<ToReader, { readonly kind: "next" }>
type ReadError = CatalogueRefused | CatalogueUnreadable

class ReadingThread {
  readonly #worker = startThread(import.meta, "reader-worker", {
    isMessage: isFromReader,
    onMessage: (message) => this.#hear(message),
    onEnd: (cause) => this.#end(cause),
  })
  #answer: ((answer: Effect.Effect<Reading, ReadError>) => void) | undefined
  #news: PlatformDocument | undefined
  #declared = nothingDeclared
  isEnded = false

  read(request: ReadRequest, answer: (answer: Effect.Effect<Reading, ReadError>) => void): void {
    this.#answer = answer
    this.#news = undefined
    this.#declared = nothingDeclared
    this.#worker.postMessage(request)
  }

  stop(): void {
    this.#answer = undefined
    void this.#worker.terminate()
  }

  #hear(message: FromReader): void {
    switch (message.kind) {
      case "news":
        this.#news = this.#news === undefined ? message.part : joinPart(this.#news, message.part)
        break
      case "declared":
        this.#declared = joinDeclared(this.#declared, message.part)
        break
      default:
        this.#answer?.(answerOf(message, this.#news, this.#declared))
        return
    }
    this.#worker.postMessage({ kind: "next" } satisfies ToReader)
  }

  #end(cause: unknown): void {
    this.isEnded = true
    this.#answer?.(Effect.fail(new CatalogueUnreadable({ cause })))
  }
}

const answerOf = (
  message: Exclude<FromReader, { readonly kind: "news" | "declared" }>,
  news: PlatformDocument = { version: 1 },
  declared: Declared,
): Effect.Effect<Reading, ReadError> => {
  switch (message.kind) {
    case "read":
      return Effect.succeed({ ...message.reading, news, declared })
    case "refused":
      return Effect.fail(new CatalogueRefused({ issues: message.issues }))
    case "failed":
      return Effect.fail(new CatalogueUnreadable({ cause: message.cause }))
  }
}
