/** The guide's thread, which starts with the first question and ends a minute after the last one. */
import type { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { startThread } from "../../worker-thread.ts"
import { type Answer, type GuideData, isAnswer, type Question } from "./guide-protocol.ts"

const restMs = 60_000

/** Questions that the thread has at a time: pages and searches take milliseconds, and exchanges need the processor too. */
const mostQuestions = 64

type Answered = Effect.Effect<string | undefined, ServiceError<"rate_limited">>

/** Asks the thread; undefined if there is no such page. */
export type AskGuide = (ask: Question["ask"], text: string) => Answered

/** The thread ends with the scope. */
export const makeGuideThread = (data: GuideData) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new GuideThread(data)),
      (thread) => Effect.sync(() => thread.end()),
    ),
    (thread): AskGuide =>
      (ask, text) =>
        thread.ask(ask, text),
  )

interface Waiting {
  readonly answer: (text: string | undefined) => void
  readonly fail: (cause: unknown) => void
}

class GuideThread {
  readonly #data: GuideData
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #rest: NodeJS.Timeout | undefined
  #lastId = 0
  /** Questions without an answer, also those whose caller has gone. */
  #open = 0

  constructor(data: GuideData) {
    this.#data = data
  }

  ask(ask: Question["ask"], text: string): Answered {
    return Effect.callback((resume) => {
      if (this.#open >= mostQuestions) return resume(Effect.fail(tooMany))
      this.#open++
      const id = ++this.#lastId
      this.#waiting.set(id, {
        answer: (answer) => resume(Effect.succeed(answer)),
        fail: (cause) => resume(Effect.die(cause)),
      })
      clearTimeout(this.#rest)
      this.#worker ??= this.#start()
      const question: Question = { id, ask, text }
      this.#worker.postMessage(question)
      return Effect.sync(() => this.#waiting.delete(id))
    })
  }

  end(): void {
    clearTimeout(this.#rest)
    const worker = this.#worker
    this.#worker = undefined
    this.#open = 0
    void worker?.terminate()
  }

  #start(): Worker {
    const worker = startThread<Answer>(import.meta, "guide-worker", {
      workerData: this.#data,
      isMessage: isAnswer,
      onMessage: ({ id, text }) => {
        this.#waiting.get(id)?.answer(text ?? undefined)
        this.#waiting.delete(id)
        this.#open--
        clearTimeout(this.#rest)
        if (this.#open === 0) this.#rest = setTimeout(() => this.end(), restMs).unref()
      },
      onEnd: (cause) => {
        if (this.#worker !== worker) return
        this.#worker = undefined
        this.#open = 0
        for (const { fail } of this.#waiting.values()) fail(cause)
        this.#waiting.clear()
      },
    })
    return worker
  }
}

const tooMany = serviceError("rate_limited", "The guide has too many readers for now", {
  detail: { scope: "gateway" },
  retryAfterMs: 1000,
})
