/** Fields below the first level: what no table has is refused where a call is translated. */
import { describe, expect, it } from "vitest"
import type { ClientApiName } from "../../../../src/dialects/carry/carried-request.ts"
import { clientApis } from "../../../../src/dialects/client/client-apis.ts"
import { isObject, type JsonObject } from "../../../../src/dialects/parse/json.ts"
import { readCompatible } from "../../../../src/http/compatible/request.ts"

const place = { model: "m", stream: false, isArray: false, counts: false }
const user = (...content: ReadonlyArray<object>) => ({ messages: [{ role: "user", content }] })
const said = (...parts: ReadonlyArray<object>) => ({ contents: [{ role: "user", parts }] })
const hi = { messages: [{ role: "user", content: "Hi" }] }
const asked = { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }
const tools = [{ type: "function", function: { name: "f", parameters: {} } }]
const declared = [{ functionDeclarations: [{ name: "f" }] }]
const tool = { name: "f", input_schema: { type: "object" } }
const data = "iVBORw0KGgo="
const input = (...content: ReadonlyArray<object>) => ({ input: [{ role: "user", content }] })

/** A request with a field that nobody knows at a place. */
const requests: ReadonlyArray<readonly [ClientApiName, string, JsonObject]> = [
  [
    "openai-chat",
    "messages.0.content.0.image_url",
    user({ type: "image_url", image_url: { url: `data:image/png;base64,${data}`, x: 1 } }),
  ],
  [
    "openai-chat",
    "messages.0.content.0.input_audio",
    user({ type: "input_audio", input_audio: { data, format: "wav", x: 1 } }),
  ],
  [
    "openai-chat",
    "messages.0.content.0.file",
    user({ type: "file", file: { file_data: data, filename: "a.pdf", x: 1 } }),
  ],
  [
    "openai-chat",
    "messages.0.content.0.cache_control",
    user({ type: "text", text: "Hi", cache_control: { type: "ephemeral", x: 1 } }),
  ],
  ["openai-chat", "tool_choice", { ...hi, tools, tool_choice: { type: "function", function: { name: "f" }, x: 1 } }],
  [
    "openai-chat",
    "tool_choice.function",
    { ...hi, tools, tool_choice: { type: "function", function: { name: "f", x: 1 } } },
  ],
  ["openai-chat", "response_format", { ...hi, response_format: { type: "json_object", x: 1 } }],
  [
    "openai-chat",
    "response_format.json_schema",
    { ...hi, response_format: { type: "json_schema", json_schema: { name: "a", schema: {}, x: 1 } } },
  ],
  ["openai-chat", "thinking", { ...hi, thinking: { type: "enabled", x: 1 } }],
  ["openai-chat", "reasoning", { ...hi, reasoning: { effort: "low", x: 1 } }],
  ["openai-chat", "prediction", { ...hi, prediction: { type: "content", content: "a", x: 1 } }],
  [
    "anthropic",
    "messages.0.content.0.source",
    { max_tokens: 5, ...user({ type: "image", source: { type: "base64", media_type: "image/png", data, x: 1 } }) },
  ],
  [
    "anthropic",
    "messages.0.content.0.cache_control",
    { max_tokens: 5, ...user({ type: "text", text: "Hi", cache_control: { type: "ephemeral", x: 1 } }) },
  ],
  ["anthropic", "thinking", { max_tokens: 5, ...hi, thinking: { type: "adaptive", x: 1 } }],
  ["anthropic", "tool_choice", { max_tokens: 5, ...hi, tools: [tool], tool_choice: { type: "auto", x: 1 } }],
  [
    "anthropic",
    "output_config.format",
    { max_tokens: 5, ...hi, output_config: { format: { type: "json_schema", schema: {}, x: 1 } } },
  ],
  ["openai-responses", "input.0.content.0", input({ type: "input_text", text: "Hi", x: 1 })],
  [
    "openai-responses",
    "input.0.content.0",
    input({ type: "input_image", image_url: "https://example.com/a.png", x: 1 }),
  ],
  ["openai-responses", "input.0.content.0", input({ type: "input_file", file_data: data, x: 1 })],
  [
    "openai-responses",
    "text.format",
    { input: "Hi", text: { format: { type: "json_schema", name: "a", schema: {}, x: 1 } } },
  ],
  ["gemini", "contents.0", { contents: [{ role: "user", parts: [{ text: "Hi" }], x: 1 }] }],
  ["gemini", "contents.0.parts.0.inlineData", said({ inlineData: { mimeType: "image/png", data, x: 1 } })],
  [
    "gemini",
    "contents.0.parts.0.fileData",
    said({ fileData: { mimeType: "image/png", fileUri: "https://example.com/a.png", x: 1 } }),
  ],
  [
    "gemini",
    "contents.0.parts.0.functionCall",
    { contents: [{ role: "model", parts: [{ functionCall: { name: "f", args: {}, x: 1 } }] }] },
  ],
  ["gemini", "contents.0.parts.0.functionResponse", said({ functionResponse: { name: "f", response: {}, x: 1 } })],
  ["gemini", "systemInstruction", { ...asked, systemInstruction: { parts: [{ text: "Hi" }], x: 1 } }],
  ["gemini", "toolConfig", { ...asked, tools: declared, toolConfig: { x: 1 } }],
  ["gemini", "generationConfig.thinkingConfig", { ...asked, generationConfig: { thinkingConfig: { x: 1 } } }],
]

describe.each(requests)("%s: a new field of %s", (name, path, body) => {
  it("is named for its own API, and is what another one lacks", () => {
    const bytes = Buffer.from(JSON.stringify({ model: "m", ...body }))
    const { sent, decoded } = readCompatible(clientApis[name], { headers: {} }, bytes, undefined, place)
    expect(decoded).toMatchObject({ _tag: "Success" })
    expect(sent?.own?.newFields.map((field) => field.slice(0, field.lastIndexOf(".")))).toContain(path)
    expect(sent?.own?.lack?.path).toMatch(/\.x$/)
  })

  it("is the only thing that is new", () => {
    const plain: unknown = JSON.parse(JSON.stringify({ model: "m", ...body }).replace(/,"x":1|"x":1/g, ""))
    const bytes = Buffer.from(JSON.stringify(isObject(plain) ? plain : {}))
    const { sent } = readCompatible(clientApis[name], { headers: {} }, bytes, undefined, place)
    expect(sent?.own?.newFields).toEqual([])
  })
})
