/** A request that is refused when its batch begins has that refusal as its answer, also at a vendor: no money is held for it. */
import { expect, it } from "vitest"
import { makeOpenaiBatches, openaiTwin, repeating, serveBatches, serveTwin } from "../../../src/testing/index.ts"
import { useBatches } from "../../support/batches.ts"

let catalogue = ""
const withTools = "    capabilities: [tools, images, files, reasoning, cache]\n"
const { gateway, anthropic, books } = useBatches((text) => {
  catalogue = text.replace("id: openai, ", "id: openai, batch: vendor, ")
  return catalogue.replace(withTools, "    capabilities: [images]\n")
})

it("is not sent when its model could answer it by then", async () => {
  const twin = makeOpenaiBatches(repeating)
  const served = serveBatches(twin, serveTwin(openaiTwin, repeating))
  let isBusy = true
  let refusals = 0
  gateway().vendor.script((call) => {
    if (!isBusy) return served(call)
    refusals++
    call.head(429, { "content-type": "application/json" })
    call.end(JSON.stringify({ error: { message: "Slow down", type: "requests", code: "rate_limit_exceeded" } }))
  })
  const params = { model: "main", max_tokens: 50, messages: [{ role: "user" as const, content: "Hi" }] }
  const tools = [{ name: "look", input_schema: { type: "object" as const } }]
  const made = await anthropic().messages.batches.create({
    requests: [
      { custom_id: "a", params },
      { custom_id: "b", params: { ...params, tools } },
    ],
  })
  await expect.poll(() => refusals).toBeGreaterThan(0)
  const { adminKey, call } = gateway()
  const changed = await call("POST", "/v1/admin/catalogue", { text: catalogue }, { "x-svc-admin-key": adminKey })
  expect(changed.status).toBe(200)
  isBusy = false
  const ended = async () => (await anthropic().messages.batches.retrieve(made.id)).processing_status
  await expect.poll(ended, { timeout: 30_000 }).toBe("ended")
  const results = []
  for await (const result of await anthropic().messages.batches.results(made.id)) results.push(result)
  expect(new Map(results.map(({ custom_id: id, result }) => [id, result.type]))).toEqual(
    new Map([
      ["a", "succeeded"],
      ["b", "errored"],
    ]),
  )
  const { records, findings, left } = await books(made.id)
  expect([records.length, findings, left]).toEqual([1, [], 0])
})
