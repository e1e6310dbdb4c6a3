/**
 * Large requests: workers read and write them, and their bytes are limited, so that neither their number nor their size stops
 * a stream or fills the memory.
 */
import { availableParallelism } from "node:os"
import { Context, Effect, Layer, Result, type Scope } from "effect"
import type { BatchLine } from "../../batches/line.ts"
import type { DecodedCall } from "../../calls/held-call.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { Keyed } from "../../collections.ts"
import { WeirConfig } from "../../config.ts"
import type { ClientContext } from "../../dialects/client/client-api.ts"
import type { ChatRequest } from "../../kinds/chat/chat-request.ts"
import { Marks } from "../../policies/masks/marks.ts"
import { type MaskableText, type Masking, sentMasking } from "../../policies/masks/mask-request.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { Decoded } from "../../protocol/json/json-body.ts"
import { startThread } from "../../worker-thread.ts"
import { type Ask, type FromWorker, isAnswer, type LineFault, type Question, type SentIn } from "./protocol.ts"
import { RemotePrompt, requestLost } from "./remote-prompt.ts"
import type { Room } from "./room.ts"

/** The size from which a worker delays streams less than reading the request here. */
export const largeBytes = 256 * 1024

export const isLarge = (parts: ReadonlyArray<Uint8Array>): boolean =>
  parts.reduce((sum, { length }) => sum + length, 0) >= largeBytes

export interface LargeRead {
  /** The context of a request on a compatible route; undefined if the body cannot be read. */
  readonly sent: ClientContext | undefined
  readonly decoded: Decoded<DecodedCall<ChatRequest>>
  /** The items of its input that were asked for. */
  readonly input?: ReadonlyArray<string> | undefined
}

export class LargeRequests extends Context.Service<
  LargeRequests,
  {
    /**
     * Takes room for a body until the scope closes.
     * @param bytes the length that the request declares
     */
    readonly reserve: (bytes: number) => Effect.Effect<Room, ServiceError<"rate_limited">, Scope.Scope>
    /** Reads an exchange, whose parts are given away; its prompt stays with a worker until the scope closes. */
    readonly read: (
      parts: ReadonlyArray<Uint8Array>,
      sentIn?: SentIn,
      masking?: Masking,
      threadFrom?: number,
    ) => Effect.Effect<LargeRead, ServiceError<"internal_error">, Scope.Scope>
    /** Reads a long line of a file of OpenAI's batches. Its parts are given away. */
    readonly line: (
      parts: ReadonlyArray<Uint8Array>,
      endpoint: string,
      mostBytes: number,
    ) => Effect.Effect<Result.Result<BatchLine, LineFault>, ServiceError<"internal_error">>
    /** The texts in which engines look for values, with the marks of its masks. Its parts are given away. */
    readonly texts: (
      parts: ReadonlyArray<Uint8Array>,
      masking: Masking | undefined,
    ) => Effect.Effect<ReadonlyArray<MaskableText>, ServiceError<"internal_error">>
  }
>()("weir/http/LargeRequests") {
  static readonly layer = Layer.effect(
    LargeRequests,
    Effect.gen(function* () {
      const { largeBodyBytes } = yield* WeirConfig
      const catalogue = yield* Catalogue
      const pool: Array<WorkerThread | undefined> = Array.from({ length: poolSize })
      let taken = 0
      let lastId = 0
      yield* Effect.addFinalizer(() =>
        Effect.promise(async () => void (await Promise.all(pool.map((each) => each?.stop())))),
      )

      /** The worker with the fewest requests. A worker is started when it is needed, and is not stopped. */
      const threadOf = (): WorkerThread => {
        const loads = pool.map((thread) => (thread === undefined || thread.isGone ? 0 : thread.requests))
        const at = loads.indexOf(Math.min(...loads))
        const known = pool[at]
        if (known !== undefined && !known.isGone) return known
        const thread = new WorkerThread()
        pool[at] = thread
        return thread
      }
      const vendorOf = (id: string) => catalogue.current().vendor(id)?.vendor

      return LargeRequests.of({
        reserve: (bytes) =>
          Effect.acquireRelease(
            Effect.suspend(() => {
              let own = 0
              const grow = (whole: number) => {
                const more = whole - own
                if (more <= 0) return undefined
                // There is always room for one body.
                if (taken > own && taken + more > largeBodyBytes) return noRoom()
                taken += more
                own = whole
                return undefined
              }
              const leave = () => {
                taken -= own
                own = Number.POSITIVE_INFINITY
              }
              const refused = grow(bytes)
              return refused === undefined ? Effect.succeed({ grow, leave }) : Effect.fail(refused)
            }),
            ({ leave }) => Effect.sync(leave),
          ),
        line: Effect.fnUntraced(function* (parts, endpoint, mostBytes) {
          const reply = yield* threadOf().ask({ op: "line", parts: parts.map(wholeOf), endpoint, mostBytes })
          if (reply.kind === "fault") return Result.fail(reply.fault)
          if (reply.kind !== "line") return yield* requestLost()
          const { id, path, body } = reply
          return Result.succeed({ id, path, body })
        }),
        texts: Effect.fnUntraced(function* (parts, masking) {
          const sent = masking && sentMasking(masking)
          const reply = yield* threadOf().ask({ op: "texts", parts: parts.map(wholeOf), masking: sent })
          return reply.kind === "texts" ? reply.texts : yield* requestLost()
        }),
        read: Effect.fnUntraced(function* (parts, sentIn, masking, threadFrom) {
          const id = ++lastId
          const thread = yield* Effect.acquireRelease(
            Effect.sync(() => {
              const chosen = threadOf()
              chosen.requests++
              return chosen
            }),
            (chosen) =>
              Effect.sync(() => {
                chosen.requests--
                chosen.end(id)
              }),
          )
          const reply = yield* thread.ask({
            op: "read",
            id,
            parts: parts.map(wholeOf),
            sentIn,
            threadFrom,
            ...(masking !== undefined && { masking: sentMasking(masking) }),
          })
          if (reply.kind !== "read") return yield* requestLost()
          const { sent, outcome } = reply
          if ("refused" in outcome) {
            const { refused, detail } = outcome
            return { sent, decoded: Result.fail(serviceError("bad_request", refused, { ...(detail && { detail }) })) }
          }
          const prompt = new RemotePrompt(
            outcome.facts,
            {
              encode: (vendor, params) => thread.ask({ op: "encode", id, vendor, params }),
              text: (of, parts) => thread.ask({ op: "text", id, of, parts }),
            },
            vendorOf,
          )
          const { request, payloadHash, masked, input } = outcome
          const read = { request: { ...request, prompt }, payloadHash }
          if (masked === undefined || masking === undefined) return { sent, input, decoded: Result.succeed(read) }
          const { hits, entries } = masked
          return {
            sent,
            input,
            decoded: Result.succeed({ ...read, masked: { hits, marks: Marks.from(masking.key, entries) } }),
          }
        }),
      })
    }),
  )
}

/** The maximum number of workers: one for each core beside the event loop's, and at most two. */
const poolSize = Math.max(1, Math.min(2, availableParallelism() - 1))

const noRoom = () =>
  serviceError("rate_limited", "The gateway has no room for more large requests now", {
    detail: { scope: "gateway" },
    retryAfterMs: 1000 + Math.random() * 2000,
  })

/** Bytes that fill their whole memory buffer, so that they can be transferred. */
const wholeOf = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

const failed: FromWorker = { kind: "failed", message: "the worker is gone" }

class WorkerThread {
  readonly #worker = startThread(import.meta, "large-worker", {
    isMessage: isAnswer,
    onMessage: ({ ask, reply }) => this.#waiting.take(ask)?.(reply),
    onEnd: () => this.#leave(),
  })
  readonly #waiting = new Keyed<(reply: FromWorker) => void>()
  #lastAsk = 0
  /** The number of its requests. */
  requests = 0
  isGone = false

  ask(message: Ask): Effect.Effect<FromWorker> {
    return Effect.callback((resume) => {
      if (this.isGone) return resume(Effect.succeed(failed))
      const question: Question = { ask: ++this.#lastAsk, message }
      this.#waiting.set(question.ask, (reply) => resume(Effect.succeed(reply)))
      this.#worker.postMessage(
        question,
        "parts" in message && message.op !== "text" ? message.parts.flatMap(givenAway) : [],
      )
      return Effect.sync(() => this.#waiting.delete(question.ask))
    })
  }

  /** Releases a request. */
  end(id: number): void {
    const question: Question = { ask: 0, message: { op: "end", id } }
    if (!this.isGone) this.#worker.postMessage(question)
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }

  /** Its requests are lost; the next request starts another worker. */
  #leave(): void {
    this.isGone = true
    for (const [ask] of this.#waiting.entries()) this.#waiting.take(ask)?.(failed)
  }
}

const givenAway = ({ buffer }: Uint8Array): ReadonlyArray<ArrayBuffer> =>
  buffer instanceof ArrayBuffer ? [buffer] : []
