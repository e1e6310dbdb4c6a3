/** Engines of policies in batches: each of their calls has a hold of its own, beside the money of the batch. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { answering } from "../../../src/testing/index.ts"
import { chatLine as line, useBatches } from "../../support/batches.ts"
import { type EnginesOfTest, startEngines } from "../../support/engines/kinds.ts"
import { balanceOf } from "../../support/gateway.ts"

let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const policy = () => ({
  id: "guarded",
  direction: "inbound",
  reason: "flagged",
  match: engines.of("lakera").match(),
  forAll: true,
  price: { currency: "USD", perCall: "0.4" },
  paidBy: "organisation",
})
const { gateway, create, ended, books } = useBatches(
  (text) => `${text.replace('amount: "1000"', 'amount: "1"')}\npolicies: ${JSON.stringify([policy()])}\n`,
)

it("ask no engine that the organisation cannot pay", async () => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
  engines.of("lakera").twin.mood = "up"
  const made = await create(Array.from({ length: 6 }, (_, at) => line(`n${at}`)))
  const batch = await ended(made.id)
  expect(batch.request_counts).toMatchObject({ total: 6, completed: 2, failed: 4 })
  expect(await balanceOf(gateway())).toBeGreaterThanOrEqual(0n)
  const { findings, left } = await books(made.id)
  expect([findings, left]).toEqual([[], 0])
})
