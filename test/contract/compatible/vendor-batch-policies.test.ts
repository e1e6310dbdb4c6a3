/** A batch whose requests are reviewed does not run at its vendor: no text reaches the vendor before it is reviewed. */
import { expect, it } from "vitest"
import { makeOpenaiBatches, openaiTwin, repeating, serveBatches, serveTwin } from "../../../src/testing/index.ts"
import { chatLine as line, useBatches } from "../../support/batches.ts"

const { gateway, create, ended, linesOf, books } = useBatches((text, { app }) =>
  text
    .replace("id: openai, ", "id: openai, batch: vendor, ")
    .replace(`{ id: ${app}, `, `{ id: ${app}, policies: [words], `)
    .concat(
      "policies:\n  - { id: words, direction: inbound, match: { keywords: [secret-word] }, action: deny, reason: leak }\n",
    ),
)

it("is run by the gateway, and a request that a policy denies reaches no vendor", async () => {
  const twin = makeOpenaiBatches(repeating)
  const sent: Array<string> = []
  const alone = serveTwin(openaiTwin, repeating)
  gateway().vendor.script((call) => {
    sent.push(call.sent.toString("latin1"))
    return serveBatches(twin, alone)(call)
  })
  const made = await create([line("a", "Hi"), line("b", "the secret-word")])
  const batch = await ended(made.id)
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 1, failed: 1 } })
  expect(twin.batches()).toEqual([])
  expect(sent.join("\n")).not.toContain("secret-word")
  expect((await linesOf(batch.error_file_id))[0]).toMatchObject({ custom_id: "b" })
  expect((await books(made.id)).records).toHaveLength(1)
})
