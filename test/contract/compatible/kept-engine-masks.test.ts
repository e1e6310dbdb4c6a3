/** Kept responses of an organisation whose requests an engine masks: marks are kept, in the background too. */
import OpenAI from "openai"
import { afterAll, beforeAll, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../../support/engines/kinds.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const gateway = useGateway({
  ids,
  catalogue: (urls) => {
    const match = engines.of("presidio").match()
    const policy = { id: "found", direction: "inbound", match, reason: "personal_data", action: "mask", forAll: true }
    return testCatalogue(urls, ids, `policies: ${JSON.stringify([policy])}`).replace(
      "name: Test,",
      'name: Test, keeps: { responses: "30d" },',
    )
  },
})

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const mark = /<EMAIL_[A-Z2-7]+>/
const keptInput = async (id: string) => JSON.stringify((await client().responses.inputItems.list(id)).data)

it.each([false, true])("the input of a response is kept with marks (background: %s)", async (background) => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 100, outTokens: 20 }))
  const { id } = await client().responses.create({ model: "main", input: "I am ada@example.com", background })
  await eventually(async () => (await client().responses.retrieve(id)).status === "completed")
  expect(vendorBodyOf(gateway().vendor)).toMatch(mark)
  expect(await keptInput(id)).toMatch(mark)
  expect(await keptInput(id)).not.toContain("ada@example.com")
})

it("a response in the background begins only after the engine has answered", async () => {
  engines.of("presidio").twin.mood = "killed"
  const denied = client().responses.create({ model: "main", input: "I am ada@example.com", background: true })
  await expect(denied).rejects.toMatchObject({ status: 403 })
  engines.of("presidio").twin.mood = "up"
})
