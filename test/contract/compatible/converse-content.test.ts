/** The content of Converse: each member reaches the vendor as it was sent, or is refused by its name. */
import {
  BedrockRuntimeClient,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  type Message,
} from "@aws-sdk/client-bedrock-runtime"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/gateway.ts"
import type { VendorScript } from "../../../src/testing/scripted-vendor.ts"
import { answering, anthropicFrame } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"
import { message, vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({ ids, catalogue: (urls) => testCatalogue(urls, ids) })
const answer = answering({ words: ["Hello", " there"], inTokens: 10, outTokens: 2 })

const client = () =>
  new BedrockRuntimeClient({
    region: "eu-west-1",
    endpoint: `${gateway().baseUrl}/bedrock`,
    token: { token: `${gateway().keyId}~${gateway().key}` },
    authSchemePreference: ["httpBearerAuth"],
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  })
const converse = (input: Partial<ConverseCommandInput>) =>
  client().send(new ConverseCommand({ modelId: "claude", ...input }))

/** Posts a body as it is. @returns the status, the error's text, and the body that the vendor got */
const post = async (body: object | string, model = "claude") => {
  gateway().vendor.script(answer)
  const before = gateway().vendor.calls.length
  const reply = await fetch(`${gateway().baseUrl}/bedrock/model/${model}/converse`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway().keyId}~${gateway().key}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  })
  const { vendor } = gateway()
  return {
    status: reply.status,
    text: await reply.text(),
    sent: vendor.calls.length === before ? "" : vendorBodyOf(vendor),
    raw: vendor.calls.at(-1)?.sent.toString("utf8") ?? "",
  }
}

const hi = { text: "Hi" }
const user = (...content: ReadonlyArray<unknown>) => ({ role: "user", content })
const assistant = (...content: ReadonlyArray<unknown>) => ({ role: "assistant", content })
const tool = { toolSpec: { name: "weather", inputSchema: { json: { type: "object" } } } }
const call = { toolUse: { toolUseId: "call_1", name: "weather", input: {} } }
const result = (...content: ReadonlyArray<unknown>) => ({ toolResult: { toolUseId: "call_1", content } })
const called = (...content: ReadonlyArray<unknown>) => ({
  messages: [user(hi), assistant(call), user(result(...content))],
  toolConfig: { tools: [tool] },
})
const point = { cachePoint: { type: "default" } }
const bytes = png.toString("base64")

describe("a member that would be lost", () => {
  it.each([
    ["a text beside a cache point", { messages: [user(hi, { ...hi, ...point })] }, "messages.0.content.1"],
    [
      "a tool beside a cache point",
      { messages: [user(hi)], toolConfig: { tools: [{ ...tool, ...point }] } },
      "tools.0",
    ],
    ["a text beside JSON", called({ json: {}, text: "lost" }), "messages.2.content.0.toolResult.content.0"],
    [
      "reasoning beside sealed reasoning",
      {
        messages: [
          user(hi),
          assistant({ reasoningContent: { reasoningText: { text: "a" }, redactedContent: "YQ==" } }),
        ],
      },
      "messages.1.content.0.reasoningContent",
    ],
    [
      "bytes beside a text",
      { messages: [user({ document: { format: "txt", name: "a", source: { text: "a", bytes } } })] },
      "messages.0.content.0.document.source",
    ],
    [
      "one of two choices",
      { messages: [user(hi)], toolConfig: { tools: [tool], toolChoice: { any: {}, tool: { name: "weather" } } } },
      "toolConfig.toolChoice",
    ],
    [
      "a choice without tools",
      { messages: [user(hi)], toolConfig: { tools: [], toolChoice: { any: {} } } },
      "toolConfig.toolChoice: needs tools",
    ],
    [
      "a name that is no choice",
      { messages: [user(hi)], toolConfig: { tools: [tool], toolChoice: { tool: "weather" } } },
      "toolConfig.toolChoice.tool",
    ],
    [
      "the citations of a document",
      { messages: [user({ document: { name: "a", source: { text: "a" }, citations: { enabled: true } } })] },
      "messages.0.content.0.document.citations",
    ],
    [
      "the context of a document",
      { messages: [user({ document: { name: "a", source: { text: "a" }, context: "a" } })] },
      "messages.0.content.0.document.context",
    ],
    [
      "a place in S3",
      { messages: [user({ image: { format: "png", source: { s3Location: { uri: "s3://a" } } } })] },
      "s3Location",
    ],
    ["a text as a picture", { messages: [user({ image: { format: "png", source: { text: "a" } } })] }, "image.source"],
    [
      "a text as a PDF",
      { messages: [user({ document: { format: "pdf", name: "a", source: { text: "a" } } })] },
      "document.format",
    ],
    [
      "an unknown status",
      { messages: [user(hi), assistant(call), user({ toolResult: { ...result(hi).toolResult, status: "odd" } })] },
      "messages.2.content.0.toolResult.status",
    ],
    ["an unknown cache point", { messages: [user(hi, { cachePoint: { type: "odd" } })] }, "cachePoint.type"],
    [
      "a tool that AWS runs",
      { messages: [user(hi)], toolConfig: { tools: [{ systemTool: { name: "a" } }] } },
      "systemTool",
    ],
    [
      "a call of such a tool",
      { messages: [user(hi), assistant({ toolUse: { ...call.toolUse, type: "server_tool_use" } })] },
      "toolUse.type",
    ],
    ["a call in a result", called(call), "messages.2.content.0.toolResult.content.0"],
  ])("%s is refused by its name", async (_, body, place) => {
    const { status, text, sent } = await post(body)
    expect([status, sent]).toEqual([400, ""])
    expect(text).toContain(place)
  })

  it("of nothing is none: null is absent, as AWS reads it", async () => {
    const { status, sent } = await post({ messages: [user({ ...hi, image: null }, { ...point, text: null })] })
    expect([status, sent]).toEqual([200, expect.stringContaining('"text":"Hi","cache_control"')])
  })
})

describe("JSON of a tool", () => {
  const json = '{"id":12345678901234567890,"n":1.10,"2":1,"1":2}'
  const body = (end: string) =>
    `{"messages":[{"role":"user","content":[{"text":"Hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"call_1","name":"weather","input":${json}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"json":${json}}]}}${end}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"weather","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"integer","maximum":12345678901234567890}}}}}}]}}`

  it.each([
    ["claude", ""],
    ["main", ""],
    ["gemini", ""],
    ["claude", ',{"cachePoint":{"type":"default"}}'],
  ])("reaches %s as its text%s", async (model, end) => {
    const { status, raw } = await post(body(end), model)
    expect(status).toBe(200)
    const plain = raw.replaceAll('\\"', '"')
    expect(plain.split('"id":12345678901234567890,"n":1.10,"2":1,"1":2').length - 1).toBe(2)
    expect(plain).toContain('"maximum":12345678901234567890')
  })
})

describe("other content", () => {
  it("of a document may be a list of texts, and needs no format", async () => {
    const source = { content: [{ text: "a river" }, { text: "a weir" }] }
    const { status, sent } = await post({ messages: [user(hi, { document: { name: "notes", source } })] })
    expect([status, sent]).toEqual([200, expect.stringContaining("a river\\na weir")])
  })

  it("that is guarded is a text or a picture", async () => {
    const image = { format: "png", source: { bytes } }
    const guarded = [
      { guardContent: { text: { text: "a river", qualifiers: ["query"] } } },
      { guardContent: { image } },
    ]
    const { status, sent } = await post({ messages: [user(...guarded)] })
    expect([status, sent]).toEqual([200, expect.stringContaining("a river")])
    expect(sent).toContain(`"data":"${bytes}"`)
  })

  it("that cited its sources goes back as its text", async () => {
    const cited = { citationsContent: { content: [{ text: "a " }, { text: "river" }], citations: [{ title: "b" }] } }
    const { status, sent } = await post({ messages: [user(hi), assistant(cited), user(hi)] })
    expect([status, sent]).toEqual([200, expect.stringContaining('"text":"a river"')])
  })

  it("is sound, for models that hear", async () => {
    const { status, text } = await post({ messages: [user({ audio: { format: "mp3", source: { bytes } } })] })
    expect([status, text]).toEqual([400, expect.stringContaining("audio")])
  })
})

describe("fields of a model's family", () => {
  const asked = (fields: object, inferenceConfig = { maxTokens: 1900 }) =>
    post({ messages: [user(hi)], inferenceConfig, additionalModelRequestFields: fields })

  it.each([
    [{ thinking: { type: "enabled", budget_tokens: 1500 } }, '"budget_tokens":1500'],
    [{ reasoning_config: { type: "enabled", budget_tokens: 1500 } }, '"budget_tokens":1500'],
    [{ thinking: { type: "adaptive", display: "summarized" } }, '"thinking":'],
    [{ reasoning_effort: "low" }, '"thinking":'],
    [{ reasoning_config: "high" }, '"thinking":'],
    [{ reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } }, '"thinking":'],
    [{ inferenceConfig: { topK: 7 } }, '"top_k":7'],
    [{ top_k: 7 }, '"top_k":7'],
  ])("%j reaches the vendor", async (fields, sent) => {
    expect(await asked(fields)).toMatchObject({ status: 200, sent: expect.stringContaining(sent) })
  })

  it.each([
    [{ reasoningConfig: { type: "odd" } }, "additionalModelRequestFields.reasoningConfig.type"],
    [{ reasoning_config: { type: "odd" } }, "additionalModelRequestFields.reasoning_config.type"],
    [{ reasoning_effort: "odd" }, "additionalModelRequestFields.reasoning_effort"],
    [{ output_config: { effort: "odd" } }, "additionalModelRequestFields.output_config.effort"],
    [{ inferenceConfig: { topP: 1 } }, "additionalModelRequestFields.inferenceConfig.topP"],
  ])("%j is refused by its name", async (fields, place) => {
    const { status, text } = await asked(fields)
    expect([status, text]).toEqual([400, expect.stringContaining(place)])
  })

  it("that switch features of a vendor change nothing elsewhere", async () => {
    expect(await asked({ anthropic_beta: ["context-1m-2025-08-07"] })).toMatchObject({ status: 200 })
  })

  it("ask for a tier, at a price that has its factor", async () => {
    expect(await post({ messages: [user(hi)], serviceTier: { type: "default" } })).toMatchObject({ status: 200 })
    const { status, text } = await post({ messages: [user(hi)], serviceTier: { type: "priority" } })
    expect([status, text]).toEqual([400, expect.stringContaining("serviceTier.type")])
  })
})

describe("a reply", () => {
  const sealed = "EmwKAhg-_B"
  const source = {
    type: "web_search_result_location",
    url: "https://example.com",
    title: "A",
    cited_text: "12 degrees",
  }
  const frames = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "redacted_thinking", data: sealed } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "", citations: [] } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "It is 12." } },
    { type: "content_block_delta", index: 1, delta: { type: "citations_delta", citation: source } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ]
  const cites: VendorScript = async ({ head, write, end }) => {
    head()
    for (const frame of frames) await write(anthropicFrame(frame))
    end()
  }
  const messages: Array<Message> = [{ role: "user", content: [hi] }]
  const citation = {
    title: "A",
    sourceContent: [{ text: "12 degrees" }],
    location: { web: { url: "https://example.com" } },
  }

  it("has sealed thoughts as bytes, which go back as they came, and the sources of its text", async () => {
    gateway().vendor.script(cites)
    const { output } = await converse({ messages })
    const content = output?.message?.content ?? []
    expect(Buffer.from(content[0]?.reasoningContent?.redactedContent ?? []).toString("utf8")).toBe(sealed)
    expect(content[1]?.citationsContent).toEqual({ content: [{ text: "It is 12." }], citations: [citation] })
    gateway().vendor.script(answer)
    await converse({ messages: [...messages, { role: "assistant", content }, ...messages] })
    expect(vendorBodyOf(gateway().vendor)).toContain(`{"type":"redacted_thinking","data":"${sealed}"}`)
    expect(vendorBodyOf(gateway().vendor)).toContain(`"text":"It is 12."`)
  })

  it("streams them", async () => {
    gateway().vendor.script(cites)
    const { stream } = await client().send(new ConverseStreamCommand({ modelId: "claude", messages }))
    const deltas = []
    for await (const { contentBlockDelta } of stream ?? []) deltas.push(contentBlockDelta?.delta)
    const thought = deltas.find((delta) => delta?.reasoningContent !== undefined)?.reasoningContent?.redactedContent
    expect(Buffer.from(thought ?? []).toString("utf8")).toBe(sealed)
    expect(deltas.find((delta) => delta?.citation !== undefined)?.citation).toEqual(citation)
  })
})
