/**
 * One exchange through the whole engine, with mocks of gate, ledger and vendor, on Effect's clock: an hour passes in a
 * millisecond, and nothing listens on a socket.
 */
import { Deferred, Effect, type Fiber, Result, type Scope } from "effect"
import type { Connection, ReplyError } from "../calls/connection.ts"
import type { CatalogueRefused } from "../catalogue/refusal.ts"
import { chat } from "../kinds/chat/chat.ts"
import { EventWriter } from "../kinds/chat/event-writer.ts"
import { decodeExchange } from "../kinds/decode.ts"
import type { ExchangeResponse } from "../protocol/exchange.ts"
import type { LedgerBook, MemoryHold } from "./ledger-memory.ts"
import type { MockVendor } from "./mock-vendor-client.ts"
import { type EngineOptions, mockCaller, startMockedEngine } from "./mocked-engine.ts"

export interface MockedOptions extends EngineOptions {
  /** The body of `POST /t1/exchange`. */
  readonly ask: unknown
  /** The bytes that the client takes of a stream in a second; everything at once if absent. */
  readonly takesBytesPerS?: number
}

export interface MockedExchange {
  /** Everything that the client receives: a body, or the text of a stream's events; or the refusal. */
  readonly client: Fiber.Fiber<Result.Result<string, ReplyError>>
  readonly vendor: MockVendor
  readonly book: LedgerBook
  /** The hold of the exchange. */
  readonly hold: () => MemoryHold | undefined
  /** Closes the client's connection. */
  readonly leave: () => void
}

type ChatConnection = Connection<ExchangeResponse>

const ref = "req_mocked"

/** Starts an exchange. Move the time with `TestClock.adjust`, then assert. */
export const startMockedExchange = (
  options: MockedOptions,
): Effect.Effect<MockedExchange, CatalogueRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const { calls, vendor, book } = yield* startMockedEngine(options)
    const body = Buffer.from(JSON.stringify(options.ask))
    const received = yield* makeReceiver(options.takesBytesPerS)
    yield* Effect.forkScoped(
      calls.run({ requestId: ref, kind: chat, caller: mockCaller, decoded: decodeExchange(body) }, received.connection),
      {
        startImmediately: true,
      },
    )
    const client = yield* Effect.forkScoped(received.outcome)
    return { client, vendor, book, hold: () => book.holds.get(ref), leave: received.leave }
  })

/** A client that keeps what it takes. @param takesBytesPerS everything at once if absent */
const makeReceiver = Effect.fnUntraced(function* (takesBytesPerS: number | undefined) {
  const received = Deferred.makeUnsafe<Result.Result<string, ReplyError>>()
  const finish = (outcome: Result.Result<string, ReplyError>) => Deferred.doneUnsafe(received, Effect.succeed(outcome))
  let text = ""
  let listener: Parameters<ChatConnection["listen"]>[0] | undefined
  let unsent = 0
  let flushed: (() => void) | undefined
  const take = Effect.sync(() => {
    if (unsent === 0) return
    unsent = Math.max(0, unsent - (takesBytesPerS ?? 0))
    if (unsent > 0) return
    listener?.room()
    if (unsent === 0) flushed?.()
  })
  if (takesBytesPerS !== undefined) yield* Effect.forkScoped(Effect.forever(Effect.delay(take, "1 second")))
  const connection: ChatConnection = {
    events: new EventWriter(),
    listen: (to) => {
      listener = to
    },
    send: ({ body }) => finish(Result.succeed(typeof body === "string" ? body : JSON.stringify(body))),
    refuse: (error) => finish(Result.fail(error)),
    write: (events) => {
      text += events
      if (takesBytesPerS === undefined) return true
      unsent += events.length
      return false
    },
    end: (whenFlushed) => {
      flushed = () => {
        finish(Result.succeed(text))
        whenFlushed()
      }
      if (unsent === 0) flushed()
    },
    cut: () => finish(Result.succeed(text)),
    unsentBytes: () => unsent,
    takenBytes: () => text.length - unsent,
  }
  const leave = () => {
    listener?.gone()
    finish(Result.succeed(text))
  }
  return { connection, outcome: Deferred.await(received), leave }
})
