/** Masks of requests of Converse: wherever a text is, the vendor sees marks, and the client gets its values back. */
import { describe, expect, it } from "vitest"
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
      models: modelsAt(
        { asked: "openai", cl: "anthropic" },
        "maxOutput: 10000, capabilities: [tools, files, reasoning]",
      ),
      org: "policies: [mails]",
    }),
})

const mail = "ann@example.com"
/** Answers with the first mark of the request. */
const echoes = (call: VendorCall) => {
  const [mark = "no mark"] = /<EMAIL_[A-Z2-7]+>/.exec(JSON.stringify(call.body)) ?? []
  return answering({ words: ["It is ", mark.slice(0, 5), mark.slice(5)], inTokens: 10, outTokens: 2 })(call)
}

const hi = { role: "user", content: [{ text: "Who?" }] }
const toolConfig = { tools: [{ toolSpec: { name: "find", inputSchema: { json: { type: "object" } } } }] }
const loop = (input: object, ...content: ReadonlyArray<object>) => ({
  messages: [
    hi,
    { role: "assistant", content: [{ toolUse: { toolUseId: "call_1", name: "find", input } }] },
    { role: "user", content: [{ toolResult: { toolUseId: "call_1", content } }] },
  ],
  toolConfig,
})
const said = (...content: ReadonlyArray<object>) => ({ messages: [{ role: "user", content }] })

const bodies: ReadonlyArray<readonly [string, object]> = [
  ["a text", said({ text: `To ${mail}` })],
  ["a system text", { system: [{ text: `As ${mail}` }], ...said({ text: "Who?" }) }],
  ["a guarded text", said({ guardContent: { text: { text: `To ${mail}` } } })],
  ["the input of a call", loop({ name: mail, type: mail, id: mail, n: 1.1 }, { text: "none" })],
  ["the JSON of a result", loop({}, { json: { name: mail, type: mail, id: mail, n: 1.1 } })],
  ["the JSON of a result with more", loop({}, { json: { name: mail } }, { text: `To ${mail}` })],
  ["the JSON of a result that is a text", loop({}, { json: `To ${mail}` })],
  [
    "a cited text",
    { messages: [hi, { role: "assistant", content: [{ citationsContent: { content: [{ text: mail }] } }] }, hi] },
  ],
]

/** Other vendors get them in base64. */
const documents: typeof bodies = [
  ["a document's text", said({ document: { name: "n", source: { text: `To ${mail}` } } })],
  ["a document of texts", said({ document: { name: "n", source: { content: [{ text: `To ${mail}` }] } } })],
]

describe.each(["asked", "cl"])("a mask at %s", (model) => {
  it.each(model === "cl" ? [...bodies, ...documents] : bodies)(
    "is in the place of %s, and leaves the reply",
    async (_, body) => {
      gateway().vendor.script(echoes)
      const whole = await ask(gateway(), `/bedrock/model/${model}/converse`, body)
      expect([whole.status, whole.text]).toEqual([200, expect.stringContaining(`It is ${mail}`)])
      const sent = gateway().vendor.calls.at(-1)?.sent.toString("utf8") ?? ""
      expect(sent).toContain("<EMAIL_")
      expect(sent).not.toContain(mail)
    },
  )
})
