/** Streams of responses that run in the background, while their vendor is silent. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { openaiChunk, openaiFrames } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { streamHeartbeatMs: 300 },
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const silent = () =>
  gateway().vendor.script(async (call) => {
    call.head()
    await call.write(openaiChunk("Hel"))
    await call.wait(2000)
    call.end(openaiFrames({ words: ["lo"], inTokens: 10, outTokens: 5 }).join(""))
  })

const begin = (more: object) =>
  gateway().call("POST", "/openai/v1/responses", { model: "main", input: "Hi", background: true, ...more })

const decodeId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))

const beats = (text: string) => text.split(": hb\n\n").length - 1

it("a client that follows the response that it began gets heartbeats", async () => {
  silent()
  const text = await (await begin({ stream: true })).text()
  expect(text).toContain("response.completed")
  expect(beats(text)).toBeGreaterThanOrEqual(3)
})

it.each(["", "&starting_after=3"])("a client that reads the events of a response gets heartbeats%s", async (more) => {
  silent()
  const { id } = decodeId(await (await begin({})).json())
  const text = await (await gateway().call("GET", `/openai/v1/responses/${id}?stream=true${more}`)).text()
  expect(text).toContain("response.completed")
  expect(beats(text)).toBeGreaterThanOrEqual(3)
  expect(beats(text)).toBeLessThan(10)
  // A heartbeat is between events, and has no number.
  const blocks = text.split("\n\n").filter((block) => block !== "" && block !== ": hb")
  expect(blocks.every((block) => block.startsWith("event: response."))).toBe(true)
})
