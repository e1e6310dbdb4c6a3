/** The guide's thread, which starts with the first question and ends a minute after the last one. */
import type { Worker } from "node:worker_threads"
import { Effect } from "effect"
import { startThread } from "../../worker-thread.ts"
import { type Answer, type GuideData, isAnswer, type Question } from "./guide-protocol.ts"

const restMs = 60_000

/** Asks the thread; undefined if there is no such page. */
export type AskGuide = (ask: Question["ask"], text: string) => Effect.Effect<string | undefined>

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

  constructor(data: GuideData) {
    this.#data = data
  }

  ask(ask: Question["ask"], text: string): Effect.Effect<string | undefined> {
    return Effect.callback((resume) => {
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
    void worker?.terminate()
  }

  #start(): Worker {
    const worker = startThread<Answer>(import.meta, "guide-worker", {
      workerData: this.#data,
      isMessage: isAnswer,
      onMessage: ({ id, text }) => {
        this.#waiting.get(id)?.answer(text ?? undefined)
        this.#waiting.delete(id)
        clearTimeout(this.#rest)
        this.#rest = setTimeout(() => this.end(), restMs).unref()
      },
      onEnd: (cause) => {
        if (this.#worker !== worker) return
        this.#worker = undefined
        for (const { fail } of this.#waiting.values()) fail(cause)
        this.#waiting.clear()
      },
    })
    return worker
  }
}
