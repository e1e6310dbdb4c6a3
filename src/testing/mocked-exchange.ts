/**
 * One exchange through the whole actor, with mocks of gate, ledger and vendor, on Effect's clock: an hour passes in a
 * millisecond, and nothing listens anywhere.
 */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Fiber, Layer, Result, type Scope } from "effect"
import { layerMemory } from "../admission/gate-memory.ts"
import type { CatalogueRefused } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import type { ByteQueue } from "../exchange/byte-queue.ts"
import type { ReplyError } from "../exchange/client-link.ts"
import { Exchanges } from "../exchange/exchange.ts"
import type { Caller } from "../identity/caller.ts"
import type { Ledger } from "../money/ledger.ts"
import { layerSettler } from "../money/settler.ts"
import { makeSealer } from "../store/seal.ts"
import { type LedgerBook, layerMemoryLedger, type MemoryHold, makeLedgerBook } from "./ledger-memory.ts"
import { layerMockVendorClient, type MockReply, type MockVendor, makeMockVendor } from "./mock-vendor-client.ts"
import { layerPlainServices } from "./plain-services.ts"
import { layerStaticCatalogue } from "./static-catalogue.ts"

/** One vendor, one model (`main`), one organisation. */
export const mockCatalogue = `
version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "http://vendor.test" }]
models: [{ handle: main, maxOutput: 100, targets: [{ vendor: v, model: m }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", from: 1970-01-01 }]
orgs: [{ id: org, name: O, currency: USD, models: [main] }]
apps: [{ id: app, org: org }]
`

/** An application of {@link mockCatalogue}'s organisation. */
export const mockCaller: Caller = {
  keyId: "key",
  nonce: undefined,
  endUserId: undefined,
  app: { id: "app", org: "org" },
  org: { id: "org", name: "O", currency: "USD", models: ["main"] },
  plan: undefined,
  policies: { inbound: [], outbound: [] },
}

export interface MockedOptions {
  /** What is asked, as the body of `POST /t1/exchange`. */
  readonly ask: unknown
  /** What the vendor answers, call after call; the last one again and again. */
  readonly replies: ReadonlyArray<MockReply>
  /** {@link mockCatalogue} when absent. */
  readonly catalogue?: string
  /** Ten-thousand-millionths of a currency unit that the organisation has; 100 when absent. */
  readonly balance?: bigint
  /** Another ledger than the one in memory, e.g. one that fails. */
  readonly ledger?: Layer.Layer<Ledger>
  readonly config?: Partial<WeirConfig["Service"]>
}

export interface MockedExchange {
  /** All that the client is sent: a body, or the text of a stream's events; or what refused it. */
  readonly client: Fiber.Fiber<Result.Result<string, ReplyError>>
  readonly vendor: MockVendor
  readonly book: LedgerBook
  /** What became of the money. */
  readonly hold: () => MemoryHold | undefined
  /** Closes the client's connection. */
  readonly leave: () => void
}

const ref = "req_mocked"

/** Starts an exchange; move the time with `TestClock.adjust`, then look. */
export const startMockedExchange = (
  options: MockedOptions,
): Effect.Effect<MockedExchange, CatalogueRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const vendor = makeMockVendor()
    const book = makeLedgerBook({ org: options.balance ?? 10n ** 12n })
    const gate = layerMemory({ idempotencyTtlMs: 60_000, sealer: makeSealer(undefined) })
    const parts = Layer.mergeAll(
      layerPlainServices.pipe(Layer.provideMerge(gate)),
      layerMockVendorClient(vendor, options.replies),
      options.ledger ?? layerMemoryLedger(book),
      layerStaticCatalogue(options.catalogue ?? mockCatalogue),
      Layer.orDie(WeirConfig.layerWith({ env: "test", ...options.config })),
    )
    const folder = mkdtempSync(join(tmpdir(), "weir-mocked-"))
    const settler = layerSettler({ folder, patienceMs: 10_000 })
    const context = yield* Layer.build(Exchanges.layer.pipe(Layer.provide(settler), Layer.provide(parts)))
    const exchanges = yield* Effect.provideContext(Exchanges, context)
    const body = Buffer.from(JSON.stringify(options.ask))
    const link = yield* exchanges.start({ requestId: ref, caller: mockCaller, body }, { cut: () => undefined })
    const received = Effect.flatMap(link.reply, (reply) =>
      reply._tag === "Json" ? Effect.succeed(reply.body) : textOf(reply.events),
    )
    const client = yield* Effect.forkScoped(Effect.result(received))
    return { client, vendor, book, hold: () => book.holds.get(ref), leave: () => link.leave() }
  })

/** All that a client would be sent. */
const textOf = (events: ByteQueue): Effect.Effect<string> =>
  Effect.gen(function* () {
    let text = ""
    while (true) {
      const lot = yield* Effect.result(events.take)
      if (Result.isFailure(lot)) return text
      text += Buffer.concat(lot.success).toString("utf8")
    }
  })
