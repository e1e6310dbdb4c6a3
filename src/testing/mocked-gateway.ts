/**
 * A gateway in memory that a client talks to through `fetch`, on Effect's clock: timeouts of minutes pass in a
 * millisecond. It answers `POST /t1/exchange`.
 */
import { Effect, Latch, References, type Scope } from "effect"
import type { CatalogueRefused } from "../catalogue/refusal.ts"
import { errorResponse, routeNotFound } from "../http/respond.ts"
import { chat } from "../kinds/chat/chat.ts"
import { decodeExchange } from "../kinds/decode.ts"
import type { LedgerBook, MemoryHold } from "./ledger-memory.ts"
import { MemoryConnection, responseOf } from "./memory-connection.ts"
import type { MockVendor } from "./mock-vendor-client.ts"
import { type EngineOptions, mockCaller, startMockedEngine } from "./mocked-engine.ts"

/** A gateway in memory, with the state of its mocks. */
export interface MockedGateway {
  /** For `connect({ ...gateway, fetch })`: any URL and credentials serve. */
  readonly baseUrl: string
  readonly credentials: { readonly keyId: string; readonly key: string }
  readonly fetch: typeof fetch
  readonly vendor: MockVendor
  readonly book: LedgerBook
  /** The hold of each exchange, in the order of their calls. */
  readonly holds: () => ReadonlyArray<MemoryHold>
  /** Waits until the gateway has as many requests; then the time can be moved. */
  readonly received: (count: number) => Effect.Effect<void>
}

/**
 * Starts a gateway; it stops when the scope closes.
 *
 * **Gotchas**
 *
 * The client's own pauses, such as those before a retry, take real time: give it `retry: { times: 0 }`, or short ones.
 */
export const startMockedGateway = (
  options: EngineOptions,
): Effect.Effect<MockedGateway, CatalogueRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const { calls, vendor, book } = yield* startMockedEngine(options)
    const scope = yield* Effect.scope
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    let count = 0
    let arrival = Latch.makeUnsafe(false)
    const answer = async (...args: Parameters<typeof fetch>): Promise<Response> => {
      const request = new Request(...args)
      const body = Buffer.from(await request.arrayBuffer())
      const requestId = `req_${++count}`
      const isExchange = request.method === "POST" && new URL(request.url).pathname === "/t1/exchange"
      if (!isExchange) return responseOf(errorResponse(routeNotFound, requestId))
      const connection = new MemoryConnection(requestId, request.signal)
      const call = { requestId, kind: chat, caller: mockCaller, decoded: decodeExchange(body) }
      const run = Effect.provideService(calls.run(call, connection), References.MinimumLogLevel, "None")
      fork(Effect.forkIn(run, scope, { startImmediately: true }))
      arrival.openUnsafe()
      arrival = Latch.makeUnsafe(false)
      return connection.response
    }
    const received = (wanted: number): Effect.Effect<void> =>
      Effect.suspend(() => (count >= wanted ? Effect.void : Effect.flatMap(arrival.await, () => received(wanted))))
    return {
      baseUrl: "http://weir.test",
      credentials: { keyId: "key", key: "secret" },
      fetch: answer,
      vendor,
      book,
      holds: () => [...book.holds.values()],
      received,
    }
  })
