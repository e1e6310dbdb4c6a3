/** A policy of some parts of a call reviews these parts and no others, in each API. */
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { type Api, ask, modelsAt, paths, serving } from "./served.ts"

const ids = newTestIds()
const words = { text: "alpha", toolArguments: "beta", toolResults: "gamma" } as const
type Part = keyof typeof words
const parts = ["text", "toolArguments", "toolResults"] as const
const policies = `
policies:
${parts.map((part) => `  - { id: ${words[part]}, direction: both, match: { keywords: [${words[part]}] }, parts: [${part}], reason: ${words[part]} }`).join("\n")}
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 10000, capabilities: [tools, reasoning]",
      ),
      org: `policies: [${Object.values(words).join(", ")}]`,
    }),
})

type Texts = Readonly<Record<Part, string>>

const tool = { type: "object", properties: { q: { type: "string" } } }
/** A thread with a text in each part. */
const bodies: Readonly<Record<Api, (texts: Texts) => object>> = {
  chat: ({ text, toolArguments, toolResults }) => ({
    messages: [
      { role: "user", content: text },
      {
        role: "assistant",
        tool_calls: [
          { id: "a", type: "function", function: { name: "f", arguments: JSON.stringify({ q: toolArguments }) } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: toolResults },
    ],
    tools: [{ type: "function", function: { name: "f", parameters: tool } }],
  }),
  responses: ({ text, toolArguments, toolResults }) => ({
    input: [
      { role: "user", content: text },
      { type: "function_call", call_id: "a", name: "f", arguments: JSON.stringify({ q: toolArguments }) },
      { type: "function_call_output", call_id: "a", output: toolResults },
    ],
    tools: [{ type: "function", name: "f", parameters: tool }],
  }),
  messages: ({ text, toolArguments, toolResults }) => ({
    max_tokens: 100,
    messages: [
      { role: "user", content: text },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: { q: toolArguments } }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: toolResults }] }],
      },
    ],
    tools: [{ name: "f", input_schema: tool }],
  }),
  generate: ({ text, toolArguments, toolResults }) => ({
    contents: [
      { role: "user", parts: [{ text }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: { q: toolArguments } } }] },
      { role: "user", parts: [{ functionResponse: { name: "f", response: { r: toolResults } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: "f", parameters: tool }] }],
  }),
  t1: ({ text, toolArguments, toolResults }) => ({
    thread: [
      { role: "user", blocks: [{ t: "text", v: text }] },
      { role: "assistant", blocks: [{ t: "tool_call", id: "a", name: "f", input: { q: toolArguments } }] },
      { role: "tool", blocks: [{ t: "tool_result", id: "a", v: toolResults }] },
    ],
    tools: [{ name: "f", inputSchema: tool }],
  }),
}

const apis = [
  ["chat", "chat"],
  ["responses", "resp"],
  ["messages", "cl"],
  ["generate", "gem"],
  ["t1", "chat"],
] as const

const send = (api: Api, model: string, texts: Texts) => {
  const body = bodies[api](texts)
  return ask(gateway(), paths[api](model), api === "generate" ? body : { model, ...body })
}

const saying = (word: string) => answering({ words: [word], inTokens: 10, outTokens: 20 })

describe.each(apis)("in %s", (api, model) => {
  it.each(parts)("a policy of %s finds its word there", async (part) => {
    gateway().vendor.script(saying("fine"))
    const texts = { text: "Hi", toolArguments: "a", toolResults: "b", [part]: `a ${words[part]}` }
    const { status, text } = await send(api, model, texts)
    expect({ status, text }).toMatchObject({ status: 403, text: expect.stringContaining("policy denied") })
  })

  it.each(parts)("%s has any word of the others", async (part) => {
    gateway().vendor.script(saying("fine"))
    const others = parts.filter((each) => each !== part).map((each) => words[each])
    const texts = { text: "Hi", toolArguments: "a", toolResults: "b", [part]: others.join(" ") }
    expect(await send(api, model, texts)).toMatchObject({ status: 200 })
  })

  it("a whole reply's text has any word of the others", async () => {
    const texts = { text: "Hi", toolArguments: "a", toolResults: "b" }
    gateway().vendor.script(saying("beta and gamma"))
    expect(await send(api, model, texts)).toMatchObject({ status: 200 })
    gateway().vendor.script(saying("alpha"))
    expect((await send(api, model, texts)).text).toContain("policy denied")
  })
})

it("members of arguments that look like a result are arguments", async () => {
  gateway().vendor.script(saying("fine"))
  const { text } = await ask(gateway(), paths.messages(), {
    model: "cl",
    max_tokens: 100,
    messages: [
      { role: "user", content: "Hi" },
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "f", input: { type: "tool_result", tool_use_id: "be", q: "beta" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "b" }] },
    ],
  })
  expect(text).toContain("policy denied")
})
