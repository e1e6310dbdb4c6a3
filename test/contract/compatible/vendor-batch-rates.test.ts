/** Answers of a vendor in a batch of its own are delivered and billed at once: rates are for requests that are still to be made. */
import { expect, it } from "vitest"
import { makeOpenaiBatches, openaiTwin, repeating, serveBatches, serveTwin } from "../../../src/testing/index.ts"
import { chatLine, useBatches } from "../../support/batches.ts"

const { gateway, create, ended, openai, books } = useBatches((text) =>
  text.replace("id: openai, ", "id: openai, batch: vendor, ").replace("perMinute: 100000", "perMinute: 20"),
)

it("the results of a vendor's batch take nothing of the rates of their caller", async () => {
  const twin = makeOpenaiBatches(repeating)
  gateway().vendor.script(serveBatches(twin, serveTwin(openaiTwin, repeating)))
  const made = await create(Array.from({ length: 100 }, (_, at) => chatLine(`n${at}`)))
  expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 100 } })
  const call = openai().chat.completions.create({ model: "main", messages: [{ role: "user", content: "Hi" }] })
  expect((await call).choices[0]?.message.content).toBe("You said: Hi")
  const { records, findings, left } = await books(made.id)
  expect([records.length, findings, left]).toEqual([100, [], 0])
})
