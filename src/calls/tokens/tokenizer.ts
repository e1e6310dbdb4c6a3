/**
 * Token counts if a vendor reports none: those of o200k, the tokenizer of OpenAI's current models, plus 10 %, because
 * other vendors' tokenizers produce more tokens. Counting runs in a worker thread, which starts when first needed.
 */
import { Context, Effect, Layer } from "effect"
import { Keyed } from "../../collections.ts"
import { startThread } from "../../worker-thread.ts"
import { type CountRequest, isCountReply } from "./tokenizer-protocol.ts"
import { tokensOfBytes } from "./tokens.ts"

export class Tokenizer extends Context.Service<
  Tokenizer,
  {
    /** Tokens of a text; estimated by bytes if the text is very long or the thread does not answer. */
    readonly count: (text: string) => Effect.Effect<number>
  }
>()("weir/calls/Tokenizer") {
  static readonly layer = Layer.succeed(
    Tokenizer,
    Tokenizer.of({
      count: (text) =>
        Effect.suspend(() => {
          if (text === "") return Effect.succeed(0)
          if (thread === undefined || thread.isBroken) thread = new CountingThread()
          const head = text.slice(0, maxChars)
          const rest = tokensOfBytes(Buffer.byteLength(text.slice(maxChars)))
          return thread.count(head).pipe(
            Effect.map((tokens) => tokens + Math.ceil(tokens / 10) + rest),
            Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(countBytes(text)) }),
          )
        }),
    }),
  )

  /** Estimates by bytes only; for tests. */
  static readonly layerBytes = Layer.succeed(
    Tokenizer,
    Tokenizer.of({ count: (text) => Effect.sync(() => countBytes(text)) }),
  )
}

/** Text beyond this is estimated by its bytes. */
const maxChars = 256 * 1024
/** Maximum time that a settlement waits for a count. */
const patience = "5 seconds"

const countBytes = (text: string): number => tokensOfBytes(Buffer.byteLength(text))

/** The tokenizer thread of all gateways of the process: loading takes 70 MB, and half a second. It ends with the process. */
let thread: CountingThread | undefined

class CountingThread {
  readonly #worker = startThread(import.meta, "tokenizer-worker", {
    isMessage: isCountReply,
    onMessage: ({ id, tokens }) => this.#answer(id, tokens),
    onEnd: () => this.#giveUp(),
  })
  readonly #waiting = new Keyed<{ readonly text: string; readonly resume: (tokens: number) => void }>()
  #lastId = 0
  isBroken = false

  count(text: string): Effect.Effect<number> {
    return Effect.callback<number>((resume) => {
      const request: CountRequest = { id: ++this.#lastId, text }
      this.#waiting.set(request.id, { text, resume: (tokens) => resume(Effect.succeed(tokens)) })
      this.#worker.postMessage(request)
      return Effect.sync(() => this.#waiting.delete(request.id))
    })
  }

  #answer(id: string | number, tokens: number): void {
    this.#waiting.take(id)?.resume(tokens)
  }

  /** After a failure of the thread, pending counts are estimated by bytes, and the next count starts a new thread. */
  #giveUp(): void {
    this.isBroken = true
    for (const [id, { text }] of this.#waiting.entries()) this.#answer(id, countBytes(text))
  }
}
