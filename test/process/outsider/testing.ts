// A test of somebody else, typechecked against the packed test kit: strictly, and without `skipLibCheck`.
import { connect, WeirRefused } from "@weir-gateway/client"
import { makeClient, WeirClient } from "@weir-gateway/client/effect"
import {
  Calls,
  Catalogue,
  Gate,
  hello,
  Ledger,
  layerCalls,
  layerMemoryGate,
  layerMemoryLedger,
  layerMockVendorClient,
  layerStaticCatalogue,
  layerTestConfig,
  makeLedgerBook,
  makeMockVendor,
  mockCatalogue,
  openGateway,
  startMockedGateway,
  type TestGateway,
  VendorClient,
} from "@weir-gateway/testing"
import { Effect, Layer, Stream } from "effect"

type Missing = "calls" | "ledger" | "sql" | "shards" | "retention" | "gate" | "catalogue" | "tenants"
/** The gateway's own services are no part of its type. */
export const hidden: Extract<keyof TestGateway, Missing> extends never ? true : false = true

export const withPromises = async (): Promise<string> => {
  await using gateway = await openGateway({ config: { upstreamTimeouts: { ttfb: 500 } } })
  const weir = connect({ baseUrl: gateway.baseUrl, credentials: { keyId: gateway.keyId, key: gateway.key } })
  return (await weir.exchange({ ...hello })).text
}

const book = makeLedgerBook({ org: 10n ** 12n })
/** A ledger that settles nothing, over the one in memory. */
const withoutSettlement = Layer.effect(
  Ledger,
  Effect.map(Ledger, (ledger) => Ledger.of({ ...ledger, settle: () => Effect.never })),
).pipe(Layer.provide(layerMemoryLedger(book)))

/** The engine over parts of one's own. */
export const engine: Layer.Layer<Calls, unknown> = layerCalls.pipe(
  Layer.provide(
    Layer.mergeAll(
      layerMemoryGate,
      withoutSettlement,
      layerMockVendorClient(makeMockVendor(), []),
      layerStaticCatalogue(mockCatalogue),
    ).pipe(Layer.provideMerge(layerTestConfig({ upstreamTimeouts: { idle: 100 } }))),
  ),
)
export const tags = [Calls, Catalogue, Gate, Ledger, VendorClient]

export const onVirtualTime = Effect.gen(function* () {
  const gateway = yield* startMockedGateway({ replies: [{}], ledger: withoutSettlement })
  const client = makeClient(gateway)
  return yield* Effect.catchTag(client.exchange({ ...hello }), "WeirRefused", ({ code }) => Effect.succeed(code))
})

/** A mock of the client itself. */
export const mocked = Layer.mock(WeirClient)({
  stream: () =>
    Stream.fail(
      new WeirRefused({ code: "rate_limited", message: "m", status: 429, requestId: "r", subject: "model main" }),
    ),
})
