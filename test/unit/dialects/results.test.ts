/** Pictures and files in results of tools are seen wherever blocks are looked at. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { chatDialects } from "../../../src/dialects/index.ts"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import { kindsOf } from "../../../src/kinds/chat/prompt.ts"
import { hasRemoteMedia, partsOfPrompt, tokensOfPrompt } from "../../../src/kinds/chat/prompt-tokens.ts"
import { samenessOfPrompt } from "../../../src/kinds/chat/sameness.ts"
import { textOfPrompt } from "../../../src/policies/texts.ts"
import type { Message, ToolResultBlock } from "../../../src/protocol/block.ts"
import { testRequest } from "../../support/twin-requests.ts"

type Blocks = NonNullable<ToolResultBlock["blocks"]>

const picture = { t: "image", mime: "image/png", data: "iVBORw0KGgo=" } as const
const note = { t: "file", mime: "text/plain", name: "a.txt", data: Buffer.from("a secret").toString("base64") } as const
const linked = { t: "image", mime: "image/png", url: "https://example.com/a.png" } as const
const sound = { t: "audio", mime: "audio/wav", data: "UklGRiQAAAA=" } as const

const threadWith = (...results: ReadonlyArray<Blocks>): ReadonlyArray<Message> => [
  { role: "user", blocks: [{ t: "text", v: "Hi" }] },
  { role: "assistant", blocks: results.map((_, at) => ({ t: "tool_call", id: `t${at}`, name: "f", input: {} })) },
  { role: "tool", blocks: results.map((blocks, at) => ({ t: "tool_result", id: `t${at}`, blocks })) },
]
const tools = [{ name: "f", inputSchema: { type: "object", properties: {} } }]
const encoded = (name: keyof typeof chatDialects, ...results: ReadonlyArray<Blocks>) =>
  chatDialects[name].encode({ ...testRequest, tools, thread: threadWith(...results) })
const bodyOf = (name: keyof typeof chatDialects, ...results: ReadonlyArray<Blocks>) =>
  parseObject(Result.getOrThrow(encoded(name, ...results)).body)
const refusalOf = (name: keyof typeof chatDialects, ...results: ReadonlyArray<Blocks>) => {
  const made = encoded(name, ...results)
  return Result.isFailure(made) ? made.failure.capability : undefined
}

describe("a picture in a result", () => {
  it("counts as a picture", () => {
    const thread = threadWith([{ t: "text", v: "a" }, picture])
    expect(kindsOf(thread).has("image")).toBe(true)
    expect(tokensOfPrompt(thread, [])).toBeGreaterThan(1600)
    expect(partsOfPrompt(thread, []).tokens).toBeGreaterThan(1600)
    expect(hasRemoteMedia(thread)).toBe(false)
    expect(hasRemoteMedia(threadWith([linked]))).toBe(true)
  })

  it("is reviewed with its text and its files", () => {
    const text = textOfPrompt(threadWith([{ t: "text", v: "a word" }, picture, note]), [])
    expect(text).toContain("a word")
    expect(text).toContain("a secret")
  })

  it("that is named by an address is no answer to keep", () => {
    expect(samenessOfPrompt({ thread: threadWith([picture]), tools: [] })).toBeDefined()
    expect(samenessOfPrompt({ thread: threadWith([linked]), tools: [] })).toBeUndefined()
  })

  it("stays in it at Bedrock, where names of documents differ", () => {
    expect(bodyOf("bedrock", [{ t: "text", v: "a" }, picture, note], [note])).toMatchObject({
      messages: [
        {},
        {},
        {
          content: [
            {
              toolResult: {
                content: [{ text: "a" }, { image: { format: "png" } }, { document: { format: "txt", name: "a txt" } }],
              },
            },
            { toolResult: { content: [{ document: { name: "a txt (2)" } }] } },
          ],
        },
      ],
    })
  })

  it("is what a target must take", () => {
    const kept = { t: "image", mime: "image/png", kept: { dialect: "openai", id: "file_1" } } as const
    expect(refusalOf("bedrock", [linked])).toBe("file_url")
    expect(refusalOf("bedrock", [sound])).toBe("audio")
    expect(refusalOf("anthropic", [sound])).toBe("audio")
    expect(refusalOf("anthropic", [kept])).toBe("file_id")
    expect(refusalOf("gemini", [kept])).toBe("file_id")
    expect(refusalOf("openai-chat", [kept])).toBe("file_id")
    expect(refusalOf("openai-responses", [kept])).toBeUndefined()
    expect(refusalOf("cohere", [picture])).toBe("tool_results")
    expect(refusalOf("cohere", [note])).toBe("tool_results")
  })
})

describe("a result of texts", () => {
  const texts = [
    { t: "text", v: "a" },
    { t: "text", v: "b" },
  ] as const

  it("is a text where there are no parts", () => {
    expect(bodyOf("cohere", texts)).toMatchObject({ messages: [{}, {}, { role: "tool", content: "a\nb" }] })
    expect(bodyOf("openai-chat", texts)).toMatchObject({ messages: [{}, {}, { role: "tool", content: "a\nb" }] })
    expect(bodyOf("gemini", texts)).toMatchObject({
      contents: [{}, {}, { parts: [{ functionResponse: { response: { output: "a\nb" } } }] }],
    })
  })
})

describe("sound in a result", () => {
  it("follows the results in a message of its own", () => {
    expect(bodyOf("openai-responses", [{ t: "text", v: "a" }, sound], [picture])).toMatchObject({
      input: [
        {},
        {},
        {},
        { type: "function_call_output", call_id: "t0", output: "a" },
        { type: "function_call_output", call_id: "t1", output: [{ type: "input_image" }] },
        { type: "message", role: "user", content: [{ type: "input_audio" }] },
      ],
    })
  })
})
