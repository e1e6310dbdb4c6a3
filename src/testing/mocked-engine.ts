/** The whole engine with mocks of gate, ledger and vendor, on Effect's clock: nothing listens on a socket. */
import { Effect, Layer, type Scope } from "effect"
import type { Gate } from "../admission/gate.ts"
import { layerMemory } from "../admission/gate-memory.ts"
import { Calls } from "../calls/calls.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueRefused } from "../catalogue/refusal.ts"
import type { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import type { Ledger } from "../money/ledger.ts"
import { Settler } from "../money/settler.ts"
import { Sealing } from "../store/seal.ts"
import type { VendorClient } from "../upstream/client.ts"
import { type LedgerBook, layerMemoryLedger, makeLedgerBook } from "./ledger-memory.ts"
import { layerMockVendorClient, type MockReply, type MockVendor, makeMockVendor } from "./mock-vendor-client.ts"
import { layerPlainServices } from "./plain-services.ts"
import { layerStaticCatalogue } from "./static-catalogue.ts"
import { layerTestConfig, type TestConfig } from "./stores.ts"

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
  endUserId: undefined,
  app: { id: "app", org: "org" },
  org: { id: "org", name: "O", currency: "USD", models: ["main"] },
  plan: undefined,
  policies: { inbound: [], outbound: [] },
}

/** The mocks of an engine. */
export interface EngineOptions {
  /** The vendor's replies, call by call; the last one repeats. */
  readonly replies: ReadonlyArray<MockReply>
  /** {@link mockCatalogue} if absent. */
  readonly catalogue?: string
  /** The organisation's balance in units of 10^-10; 100 currency units if absent. */
  readonly balance?: bigint
  /** Replaces the memory ledger, e.g. by one that fails. */
  readonly ledger?: Layer.Layer<Ledger>
  readonly config?: TestConfig
}

/** The engine over the parts that a test chooses: each can be a mock of its own. */
export const layerCalls: Layer.Layer<Calls, never, Gate | Ledger | Catalogue | VendorClient | WeirConfig> =
  Calls.layer.pipe(Layer.provide(Settler.layer), Layer.provide(Sealing.layer), Layer.provide(layerPlainServices))

/** An engine that runs, with the state of its mocks. */
export interface MockedEngine {
  readonly calls: Calls["Service"]
  readonly vendor: MockVendor
  readonly book: LedgerBook
}

export const startMockedEngine = (options: EngineOptions): Effect.Effect<MockedEngine, CatalogueRefused, Scope.Scope> =>
  Effect.gen(function* () {
    const vendor = makeMockVendor()
    const book = makeLedgerBook({ org: options.balance ?? 10n ** 12n })
    const parts = Layer.mergeAll(
      layerMemory,
      layerMockVendorClient(vendor, options.replies),
      options.ledger ?? layerMemoryLedger(book),
      layerStaticCatalogue(options.catalogue ?? mockCatalogue),
    ).pipe(Layer.provideMerge(layerTestConfig(options.config)))
    const context = yield* Layer.build(layerCalls.pipe(Layer.provide(parts)))
    return { calls: yield* Effect.provideContext(Calls, context), vendor, book }
  })
