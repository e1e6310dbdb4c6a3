/** Masks of requests of Cohere's clients, and of content that a vendor keeps: wherever a text is, the vendor sees marks. */
import { describe, expect, it } from "vitest"
import { requestTexts } from "../../../src/policies/masks/request-texts.ts"
import type { VendorCall } from "../../../src/testing/index.ts"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: mails, direction: inbound, match: { entities: [email] }, parts: [text, toolArguments, toolResults], reason: personal_data, action: mask }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt({ asked: "openai", kept: "gemini" }, "maxOutput: 10000, capabilities: [tools]"),
      price: () => `input: "3", output: "15", dims: { cache_hours: "1" }`,
      org: "policies: [mails]",
    }),
})

const mail = "ann@example.com"
/** Answers with the first mark of the request. */
const echoes = (call: VendorCall) => {
  const [mark = "no mark"] = /<EMAIL_[A-Z2-7]+>/.exec(JSON.stringify(call.body)) ?? []
  return answering({ words: ["It is ", mark.slice(0, 5), mark.slice(5)], inTokens: 10, outTokens: 2 })(call)
}
const sent = (): string => JSON.stringify(gateway().vendor.calls.at(-1)?.body)
const called = { id: "call_1", type: "function", function: { name: "find", arguments: JSON.stringify({ name: mail }) } }
const user = { role: "user", content: "Who?" }
const loop = (content: unknown) => ({
  messages: [user, { role: "assistant", tool_calls: [called] }, { role: "tool", tool_call_id: "call_1", content }],
})
const document = { document: { id: "d", data: { name: mail, text: `To ${mail}` } } }
const call = { name: "find", parameters: { name: mail, id: mail } }

const second: ReadonlyArray<readonly [string, object]> = [
  ["a message", { messages: [{ role: "user", content: `To ${mail}` }] }],
  ["a document that is a text", { messages: [user], documents: [`To ${mail}`] }],
  ["the text of a document's data", { messages: [user], documents: [{ id: "1", data: `To ${mail}` }] }],
  ["a member of a document's data", { messages: [user], documents: [{ id: "1", data: { name: mail, id: mail } }] }],
  ["the arguments of a call, and a result", loop(`To ${mail}`)],
  ["a result with a document", loop([{ type: "document", ...document }])],
  [
    "a result with a document of text",
    loop([{ type: "document", document: { data: JSON.stringify({ name: mail }) } }]),
  ],
  ["a message of the model", { messages: [user, { role: "assistant", content: `To ${mail}` }, user] }],
]
const first: ReadonlyArray<readonly [string, object]> = [
  ["a message and its preamble", { message: `To ${mail}`, preamble: `As ${mail}` }],
  ["a history", { message: "x", chat_history: [{ role: "USER", message: `To ${mail}` }] }],
  ["a document", { message: "x", documents: [{ name: mail, text: mail, url: mail }] }],
  ["a result, and its call", { message: "x", tool_results: [{ call, outputs: [{ name: mail, id: mail }] }] }],
  [
    "a call of the history",
    {
      message: "",
      chat_history: [{ role: "CHATBOT", message: "", tool_calls: [call] }],
      tool_results: [{ call, outputs: [{ type: mail }] }],
    },
  ],
]

describe("a mask", () => {
  it.each([
    ...second.map(([name, body]) => ["v2", name, body] as const),
    ...first.map(([name, body]) => ["v1", name, body] as const),
  ])("%s: is in the place of %s, and leaves the reply", async (version, _name, body) => {
    gateway().vendor.script(echoes)
    const path = `/cohere/${version}/chat`
    const whole = await ask(gateway(), path, { model: "asked", ...body })
    expect(whole.status).toBe(200)
    expect(sent()).toContain("<EMAIL_")
    expect(sent()).not.toContain(mail)
    expect(whole.text).toContain(`It is ${mail}`)
    expect(whole.text).not.toContain("<EMAIL_")
    const streamed = await ask(gateway(), path, { model: "asked", stream: true, ...body })
    const words = [...streamed.text.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text)
    expect(words.join("")).toContain(`It is ${mail}`)
    expect(streamed.text).not.toContain("<EMAIL_")
  })

  it("is not in the bytes of a file", () => {
    const source = { bytes: Buffer.from(`To ${mail}`).toString("base64") }
    const content = [{ document: { format: "pdf", name: mail, source } }, { text: mail }]
    expect(requestTexts({ messages: [{ role: "user", content }] }).map(({ text }) => text)).toEqual([mail])
  })

  it("is in kept content", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ name: "cachedContents/x", usageMetadata: { totalTokenCount: 10 } }))
    })
    const made = await ask(gateway(), "/gemini/v1beta/cachedContents", {
      model: "models/kept",
      contents: [{ role: "user", parts: [{ text: `To ${mail}` }] }],
      systemInstruction: { parts: [{ text: `As ${mail}` }] },
    })
    expect(made.status).toBe(200)
    expect(sent()).toContain("<EMAIL_")
    expect(sent()).not.toContain(mail)
  })
})
