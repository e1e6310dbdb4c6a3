/** Masks of requests: the texts that they change, and those that stay as they are. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { markKey } from "../../../src/policies/masks/marks.ts"
import { type Masking, maskBody } from "../../../src/policies/masks/mask-request.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import type { Policy } from "../../../src/protocol/catalogue/policy.ts"

const maskingBy = (match: Policy["match"]): Masking => ({
  policies: [
    Result.getOrThrow(
      compilePolicy(
        { id: "data", direction: "inbound", match, reason: "personal_data", action: "mask" },
        () => undefined,
      ),
    ),
  ],
  key: markKey(undefined, "org"),
})
const masking = maskingBy({ entities: ["email", "card"] })

const masked = (body: object, by = masking): string =>
  Buffer.from(maskBody(Buffer.from(JSON.stringify(body)), by).body).toString()
const mail = "ann@example.com"
const card = "4111 1111 1111 1111"

describe("the masks of a request", () => {
  it("find a value again beside letters, and as addresses and HTML write it", () => {
    const text = `${card}, x${card}0 ${mail} ann%40example.com and "${card}${card}"`
    const got = masked({ messages: [{ role: "user", content: text }] })
    expect(got).not.toMatch(/4111|example/)
    const [cardMark, mailMark] = [/<CARD_[A-Z2-7]+>/.exec(got)?.[0] ?? "", /<EMAIL_[A-Z2-7]+>/.exec(got)?.[0] ?? ""]
    expect(got).toContain(
      `${cardMark}, x${cardMark}0 ${mailMark} %3C${mailMark.slice(1, -1)}%3E and \\"${cardMark}${cardMark}\\"`,
    )
  })

  it("give a value its mark where the text has that mark already", () => {
    const first = masked({ messages: [{ role: "user", content: mail }] })
    const [mark = ""] = /<EMAIL_[A-Z2-7]+>/.exec(first) ?? []
    expect(masked({ messages: [{ role: "user", content: `${mark} and ${mail}` }] })).toContain(`"${mark} and ${mark}"`)
  })

  it("find many values with the same beginning in one pass", () => {
    const mails = Array.from({ length: 3000 }, (_, at) => `aaaaaaaa${at}@example.com`)
    const startedAt = performance.now()
    const got = masked({ messages: [{ role: "user", content: `${mails.join(" ")} ${"aaaaaaaa".repeat(2000)}` }] })
    expect(got).not.toContain("example")
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })

  it.each([
    ["instructions", { instructions: mail }],
    ["a description of a tool", { tools: [{ function: { name: "f", description: mail } }] }],
    [
      "a schema",
      {
        tools: [
          {
            input_schema: {
              properties: { name: { description: mail, default: mail, enum: [mail], examples: [mail] } },
            },
          },
        ],
      },
    ],
    ["labels", { metadata: { by: mail } }],
    [
      "a document of plain text",
      {
        messages: [{ content: [{ type: "document", source: { type: "text", media_type: "text/plain", data: mail } }] }],
      },
    ],
    [
      "arguments of a call",
      { messages: [{ tool_calls: [{ id: "1", function: { name: "f", arguments: JSON.stringify({ id: mail }) } }] }] },
    ],
    [
      "an object of arguments",
      { messages: [{ content: [{ type: "tool_use", id: "1", name: "f", input: { id: mail, url: mail } }] }] },
    ],
    ["a result", { messages: [{ role: "tool", content: mail }] }],
    [
      "a result in parts",
      { messages: [{ content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: mail }] }] }] },
    ],
    [
      "an output in parts",
      { input: [{ type: "function_call_output", call_id: "1", output: [{ type: "input_text", text: mail }] }] },
    ],
    [
      "a response of a function",
      { contents: [{ parts: [{ functionResponse: { name: "f", response: { id: mail } } }] }] },
    ],
    ["a thought", { contents: [{ parts: [{ thought: true, text: mail }] }] }],
    ["documents to rank", { query: mail, documents: [mail, { text: mail }] }],
    ["texts to embed", { input: [mail, "x"] }],
    ["a prompt", { prompt: [mail] }],
    ["a custom call", { input: [{ type: "custom_tool_call", call_id: "1", name: "f", input: mail }] }],
    [
      "a blank text before a call",
      {
        messages: [
          { role: "assistant", content: "", tool_calls: [{ function: { name: "f", arguments: `{"a":"${mail}"}` } }] },
        ],
      },
    ],
  ])("change %s", (_, body) => {
    expect(masked(body)).not.toContain(mail)
  })

  const number = 4111111111111111
  const long = "4123456789012345685"
  it.each([
    ["arguments of Anthropic", `{"messages":[{"content":[{"type":"tool_use","id":"a","input":{"a":[${number}]}}]}]}`],
    ["arguments of Gemini", `{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"a":{"id":${number}}}}}]}]}`],
    ["a result of Gemini", `{"contents":[{"parts":[{"functionResponse":{"response":{"a":{"id":${number}}}}}]}]}`],
    ["a result with a name", `{"contents":[{"parts":[{"functionResponse":{"response":{"a":{"name":"${mail}"}}}}]}]}`],
    ["arguments of our own", `{"thread":[{"blocks":[{"t":"tool_call","input":{"a":${number}}}]}]}`],
    ["a long number", `{"messages":[{"content":[{"type":"tool_use","input":{"a":${long}}}]}]}`],
  ])("replace values in %s", (_what, body) => {
    const got = maskBody(Buffer.from(body), masking)
    const text = Buffer.from(got.body).toString()
    expect(text).toMatch(/"<(CARD|EMAIL)_[A-Z2-7]+>"/)
    expect(text).not.toMatch(/4111|4123|example/)
    expect(() => JSON.parse(text)).not.toThrow()
    expect([`${number}`, long, mail]).toContain(got.masked?.marks.entries()[0]?.[1])
  })

  it.each([
    ["a number", `{"a":${number},"b":1}`],
    ["a number at the end", `{"b":"x","a":${number}}`],
    ["numbers in a list", `[1, ${number} ,"\\"4111 1111 1111 1111", -${number}]`],
    ["a number with a fraction", `{"a":${number}.5}`],
  ])("leave JSON in a string valid: %s", (_what, args) => {
    const call = { type: "function", function: { name: "f", arguments: args } }
    const got: { readonly messages: ReadonlyArray<{ readonly tool_calls: ReadonlyArray<typeof call> }> } = JSON.parse(
      masked({ messages: [{ role: "assistant", tool_calls: [call] }] }),
    )
    const made = got.messages[0]?.tool_calls[0]?.function.arguments ?? ""
    expect(made).not.toContain("4111")
    expect(made).toMatch(/CARD_/)
    expect(() => JSON.parse(made)).not.toThrow()
  })

  it("leave numbers of the API", () => {
    const body = { seed: number, max_tokens: number, messages: [{ role: "user", content: "Hi", n: number }] }
    expect(masked(body)).toBe(JSON.stringify(body))
  })

  it("leave names of tools, ids, bytes and signatures", () => {
    const by = maskingBy({ keywords: ["secret"] })
    const body = {
      tools: [
        { type: "function", function: { name: "get_secret" } },
        { type: "code_interpreter", container: { type: "auto" } },
      ],
      tool_choice: { type: "function", function: { name: "get_secret" } },
      contents: [
        { parts: [{ functionCall: { id: "secret", name: "get_secret", args: {} }, thoughtSignature: "secret" }] },
      ],
      messages: [
        {
          tool_calls: [{ id: "secret", function: { name: "get_secret", arguments: "{}" } }],
          function_call: { name: "get_secret", arguments: "{}" },
        },
        { content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: "secret" } }] },
        { content: [{ type: "image_url", image_url: { url: "data:image/png;base64,secret" } }] },
        { content: [{ type: "thinking", thinking: "x", signature: "secret" }] },
      ],
    }
    expect(masked(body, by)).toBe(JSON.stringify(body))
  })
})

describe("JSON in a string", () => {
  const markIn = (text: string) => /<[A-Z]+_[A-Z2-7]+>/.exec(text)?.[0] ?? ""
  const contentOf = (json: string): string => {
    const { messages }: { readonly messages: ReadonlyArray<{ readonly content: string }> } = JSON.parse(json)
    return messages[0]?.content ?? ""
  }
  const argumentsOf = (args: string, by = masking): string => {
    const call = { type: "function", function: { name: "f", arguments: args } }
    const got: { readonly messages: ReadonlyArray<{ readonly tool_calls: ReadonlyArray<typeof call> }> } = JSON.parse(
      masked({ messages: [{ role: "assistant", tool_calls: [call] }] }, by),
    )
    return got.messages[0]?.tool_calls[0]?.function.arguments ?? ""
  }
  const resultOf = (content: string, by = masking): string =>
    contentOf(masked({ messages: [{ role: "tool", tool_call_id: "1", content }] }, by))
  const escaped = String.raw`ann\u0040example.com`

  it.each([
    ["a result", resultOf],
    ["arguments", argumentsOf],
  ])("has marks for values with escapes and for numbers in %s", (_what, made) => {
    const mark = markIn(resultOf(mail))
    expect(made(`{"e": "to ${escaped}"}`)).toBe(`{"e": "to ${mark}"}`)
    expect(made(`{"e":"to ${mail}"}`)).toBe(`{"e":"to ${mark}"}`)
    expect(made(String.raw`["a\n4111111111111111"]`)).toMatch(/^\["a\\n<CARD_[A-Z2-7]+>"\]$/)
    expect(made(`{"n": 4111111111111111 }`)).toMatch(/^{"n": "<CARD_[A-Z2-7]+>" }$/)
    expect(made(`{"n":4.111111111111111e15}`)).toMatch(/^{"n":"<CARD_[A-Z2-7]+>"}$/)
  })

  it.each([
    ["a result", resultOf],
    ["arguments", argumentsOf],
  ])("keeps names of members in %s, also of values that are masked elsewhere", (_what, made) => {
    const json = `{"${mail}":{"${escaped}" : [1.50, true]}}`
    expect(made(json)).toBe(json)
    expect(made(`{"${mail}":"${mail}"}`)).toBe(`{"${mail}":"${markIn(resultOf(mail))}"}`)
  })

  it("is masked where a match reaches over the end of a text", () => {
    const by = maskingBy({ entities: ["secret"] })
    const json = `{"authorization": "Bearer abcdefgh12345", "a": "b"}`
    expect(resultOf(json, by)).toMatch(/^{"authorization": "<SECRET_[A-Z2-7]+>", "a": "b"}$/)
    expect(argumentsOf(json, by)).toMatch(/^{"authorization": "<SECRET_[A-Z2-7]+>", "a": "b"}$/)
  })

  it.each([
    [`{"n":4111111111111111`, /^{"n":<CARD_[A-Z2-7]+>$/],
    [`{"e":"${mail}`, /^{"e":"<EMAIL_[A-Z2-7]+>$/],
    ["[4111111111111111] paid", /^\[<CARD_[A-Z2-7]+>\] paid$/],
    ["4111111111111111", /^<CARD_[A-Z2-7]+>$/],
  ])("that is none is a text: %s", (text, made) => {
    expect(resultOf(text)).toMatch(made)
  })
})
