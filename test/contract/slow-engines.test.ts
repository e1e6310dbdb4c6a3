/** The time of a policy's engine is no wait for the gateway's own stores: a slow engine makes no gateway overloaded. */
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../support/engines/kinds.ts"
import { useGateway } from "../support/gateway.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())
const gateway = useGateway({ ids, config: { shedWaitMs: 100 } })

it("calls that wait for an engine are admitted", async () => {
  const { vendor, second, catalogue } = gateway()
  const presidio = engines.of("presidio")
  presidio.twin.mood = { afterMs: 300 }
  const match = presidio.match({ timeout: "5s" })
  const policy = { id: "presidio", direction: "inbound", match, reason: "flagged", onFailure: "allow", forAll: true }
  const urls = { vendor: vendor.url, second: second.url }
  await Effect.runPromise(catalogue.apply(testCatalogue(urls, ids, `policies: ${JSON.stringify([policy])}`)))
  const statuses: Array<number> = []
  const caller = async (_: unknown, name: number) => {
    for (let call = 0; call < 8; call++) {
      const thread = [{ role: "user", blocks: [{ t: "text", v: `Hello, river ${name}.${call}` }] }]
      statuses.push((await gateway().exchange({ ...hello, thread })).status)
    }
  }
  await Promise.all(Array.from({ length: 60 }).map(caller))
  expect(statuses.filter((status) => status !== 200)).toEqual([])
}, 60_000)
