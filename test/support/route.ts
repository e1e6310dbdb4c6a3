/** Ways to the services that issue tokens. */
import { Context, Effect, Layer } from "effect"
import { afterAll, beforeAll } from "vitest"
import type { Route } from "../../src/cloud-identities/identity.ts"
import { layerTestConfig } from "../../src/testing/stores.ts"
import { VendorClient } from "../../src/upstream/client.ts"
import { Egress } from "../../src/upstream/egress.ts"

/** For identities that ask nobody. */
export const noRoute: Route = {
  client: VendorClient.of({
    start: () => {
      throw new Error("nobody is to be asked")
    },
  }),
  network: undefined,
  isGuarded: false,
}

/** The gateway's own client, until the tests of the file are over. */
export const useRoute = (): (() => Route) => {
  let client: VendorClient["Service"] | undefined
  let stop: () => Promise<void> = async () => {}
  beforeAll(async () => {
    const built = Effect.gen(function* () {
      const services = yield* Layer.build(
        VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig({ httpsProxy: undefined }))),
      )
      client = Context.get(services, VendorClient)
      yield* Effect.never
    })
    const controller = new AbortController()
    const running = Effect.runPromise(Effect.scoped(built), { signal: controller.signal }).catch(() => {})
    while (client === undefined) await new Promise(setImmediate)
    stop = async () => {
      controller.abort()
      await running
    }
  })
  afterAll(() => stop())
  return () => ({ ...noRoute, ...(client !== undefined && { client }) })
}
