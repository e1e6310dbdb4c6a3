/**
 * JSON that is a client's, a model's or a tool's own arrives as it was written, between all APIs: inputs of calls, schemas,
 * results; whole and streamed.
 */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import type { ClientApiName } from "../../../src/dialects/carry/carried-request.ts"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import type { ClientApi, EventEncoder, ReplyContext } from "../../../src/dialects/client/client-api.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { chatDialects } from "../../../src/dialects/index.ts"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import { readCompatible } from "../../../src/http/compatible/request.ts"
import { ChatReply } from "../../../src/kinds/chat/chat-reply.ts"
import { EventWriter } from "../../../src/kinds/chat/event-writer.ts"
import type { Prompt, PromptParams } from "../../../src/kinds/chat/prompt.ts"
import { decodeExchange } from "../../../src/kinds/decode.ts"
import type { StructuredOutput } from "../../../src/protocol/exchange.ts"
import type { JsonPath } from "../../../src/protocol/json/json-edit.ts"
import { JsonSource } from "../../../src/protocol/json/json-source.ts"
import { writeJson } from "../../../src/protocol/json/json-text.ts"
import { bedrockFrame } from "../../../src/testing/vendor-replies.ts"
import { meterOf, usageIn } from "../../support/recorded/meaning.ts"

/** Choices by which a text is written. */
const Tape = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))).check(
  Schema.isMinLength(4),
  Schema.isMaxLength(60),
)

const spaces = ["", "", " ", "\n", "\t  "]
const keys = ["2", "1", "10", "a", "\\u0062", "__proto__", "$ref", "toJSON", "constructor", "", "é", "k\\/"]
const plain = [
  "12345678901234567890",
  "-9007199254740993",
  "1.10",
  "-0.0",
  "1E+2",
  "5e-324",
  "0",
  "null",
  "true",
  `"\\u00e9\\/\\n"`,
  `"\\ud800x"`,
  `"😀 $& data: "`,
  `"{\\"a\\":1.0}"`,
  `""`,
]

/** Writes JSON that nobody would write again as it is. */
class Writer {
  readonly #tape: ReadonlyArray<number>
  #at = 0

  constructor(tape: ReadonlyArray<number>) {
    this.#tape = tape
  }

  object(depth = 0): string {
    const count = depth === 0 ? 1 + (this.#next() % 5) : this.#next() % 4
    const names = new Set(Array.from({ length: count }, () => this.#one(keys)))
    const members = [...names].map((name) => this.#spaced(`"${name}"`, ":", this.#value(depth + 1)))
    return `{${this.#spaced(members.join(","))}}`
  }

  #value(depth: number): string {
    const kind = this.#next() % 6
    if (depth > 6 || kind < 4) return this.#one(plain)
    if (kind === 4) return this.object(depth)
    return `[${Array.from({ length: this.#next() % 3 }, () => this.#spaced(this.#value(depth + 1))).join(",")}]`
  }

  #spaced(...parts: ReadonlyArray<string>): string {
    return parts.map((part) => this.#one(spaces) + part + this.#one(spaces)).join("")
  }

  #one(list: ReadonlyArray<string>): string {
    return list[this.#next() % list.length] ?? ""
  }

  #next(): number {
    return this.#tape[this.#at++ % this.#tape.length] ?? 0
  }
}

interface Texts {
  readonly args: string
  readonly schema: string
  readonly result: string
}

const textsOf = (tape: ReadonlyArray<number>): Texts => {
  const writer = new Writer(tape)
  const constant = writer.object()
  return {
    args: writer.object(),
    schema: `{ "type":"object","required" : ["x"], "properties":{"x":{"const":${constant}}},"additionalProperties":false}`,
    result: writer.object(),
  }
}

const string = (text: string): string => JSON.stringify(text)

/** A request of each client, with a call, its result, a tool and an output. */
const requests: Readonly<Record<ClientApiName | "twp/1", (texts: Texts) => string>> = {
  "openai-chat": ({ args, schema, result }) =>
    `{"model":"main","messages":[{"role":"user","content":"q"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":${string(args)}}}]},
      {"role":"tool","tool_call_id":"c1","content":${string(result)}}],
      "tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],
      "response_format":{"type":"json_schema","json_schema":{"name":"o","schema":${schema}}}}`,
  "openai-responses": ({ args, schema, result }) =>
    `{"model":"main","input":[{"role":"user","content":"q"},
      {"type":"function_call","call_id":"c1","name":"f","arguments":${string(args)}},
      {"type":"function_call_output","call_id":"c1","output":${string(result)}}],
      "tools":[{"type":"function","name":"f","parameters":${schema}}],
      "text":{"format":{"type":"json_schema","name":"o","schema":${schema}}}}`,
  anthropic: ({ args, schema, result }) =>
    `{"model":"main","max_tokens":9,"messages":[{"role":"user","content":"q"},
      {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":${args}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":${string(result)}}]}],
      "tools":[{"name":"f","input_schema":${schema}}],
      "output_config":{"format":{"type":"json_schema","schema":${schema}}}}`,
  gemini: ({ args, schema, result }) =>
    `{"contents":[{"role":"user","parts":[{"text":"q"}]},
      {"role":"model","parts":[{"function_call":{"id":"c1","name":"f","args":${args}}}]},
      {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":${result}}}}]}],
      "tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${schema}}]}],
      "generationConfig":{"responseMimeType":"application/json","responseJsonSchema":${schema}}}`,
  "twp/1": ({ args, schema, result }) =>
    `{"model":"main","thread":[{"role":"user","blocks":[{"t":"text","v":"q"}]},
      {"role":"assistant","blocks":[{"t":"tool_call","id":"c1","name":"f","input":${args}}]},
      {"role":"tool","blocks":[{"t":"tool_result","id":"c1","v":${string(result)}}]}],
      "tools":[{"name":"f","inputSchema":${schema}}],"params":{"output":{"schema":${schema}}}}`,
}

type DialectName = keyof typeof chatDialects

/** The paths at which each vendor gets them. */
const places: Readonly<Record<DialectName, Readonly<Record<keyof Texts | "output", JsonPath>>>> = {
  "openai-chat": {
    args: ["messages", 1, "tool_calls", 0, "function", "arguments"],
    schema: ["tools", 0, "function", "parameters"],
    result: ["messages", 2, "content"],
    output: ["response_format", "json_schema", "schema"],
  },
  "openai-responses": {
    args: ["input", 1, "arguments"],
    schema: ["tools", 0, "parameters"],
    result: ["input", 2, "output"],
    output: ["text", "format", "schema"],
  },
  anthropic: {
    args: ["messages", 1, "content", 0, "input"],
    schema: ["tools", 0, "input_schema"],
    result: ["messages", 2, "content", 0, "content"],
    output: ["output_config", "format", "schema"],
  },
  gemini: {
    args: ["contents", 1, "parts", 0, "functionCall", "args"],
    schema: ["tools", 0, "functionDeclarations", 0, "parametersJsonSchema"],
    result: ["contents", 2, "parts", 0, "functionResponse", "response", "output"],
    output: ["generationConfig", "responseJsonSchema"],
  },
  bedrock: {
    args: ["messages", 1, "content", 0, "toolUse", "input"],
    schema: ["toolConfig", "tools", 0, "toolSpec", "inputSchema", "json"],
    result: ["messages", 2, "content", 0, "toolResult", "content", 0, "text"],
    output: ["outputConfig", "textFormat", "structure", "jsonSchema", "schema"],
  },
  cohere: {
    args: ["messages", 1, "tool_calls", 0, "function", "arguments"],
    schema: ["tools", 0, "function", "parameters"],
    result: ["messages", 2, "content"],
    output: ["response_format", "json_schema"],
  },
}

/** The text of an object, alone or in a string. */
const textAt = (json: string, path: JsonPath): string | undefined => {
  const text = new JsonSource(json).textAt(path)
  return text?.startsWith(`"`) ? JSON.parse(text) : text
}

const isApiName = (name: string): name is ClientApiName => Object.hasOwn(clientApis, name)

const read = (
  name: ClientApiName | "twp/1",
  body: string,
): { prompt: Prompt; output: StructuredOutput | undefined } => {
  const bytes = Buffer.from(body)
  const place = { model: "main", stream: false, isArray: false, counts: false }
  const decoded = isApiName(name)
    ? readCompatible(clientApis[name], { headers: {} }, bytes, undefined, place).decoded
    : decodeExchange(bytes)
  const { prompt, params } = Result.getOrThrow(decoded).request
  return { prompt, output: typeof params?.output === "object" ? params.output : undefined }
}

const params: PromptParams = {
  model: "anthropic.claude-sonnet-4-5",
  maxTokens: 9,
  stop: [],
  canReason: false,
  cache: { enabled: true, skipWrite: false },
  stream: false,
}

const encodedFor = (client: ClientApiName | "twp/1", dialect: DialectName, body: string): string => {
  const { prompt, output } = read(client, body)
  // Cohere takes no output beside tools.
  const asked = dialect === "cohere" ? {} : { output }
  const { wire } = prompt.encode({ dialect: { ...access, chat: chatDialects[dialect] } }, { ...params, ...asked })
  return Buffer.from(Result.getOrThrow(wire).body).toString("utf8")
}
const access = chatDialects.anthropic

const clients: ReadonlyArray<ClientApiName | "twp/1"> = [
  "openai-chat",
  "openai-responses",
  "anthropic",
  "gemini",
  "twp/1",
]
const dialects: ReadonlyArray<DialectName> = [
  "openai-chat",
  "openai-responses",
  "anthropic",
  "gemini",
  "bedrock",
  "cohere",
]
const runs = { arbitrary: { runs: 200 } }

describe.each(clients)("a request of a client of %s", (client) => {
  it.prop(
    "has its JSON as it was written, at every vendor",
    [Tape],
    ([tape]) => {
      const texts = textsOf(tape)
      const body = requests[client](texts)
      for (const dialect of dialects) {
        const encoded = encodedFor(client, dialect, body)
        expect(parseObject(encoded)).toBeDefined()
        const { args, schema, result, output } = places[dialect]
        // A vendor of the same API gets its own client's object.
        const own = client === "gemini" && dialect === "gemini"
        const found = {
          args: own ? textAt(encoded, ["contents", 1, "parts", 0, "function_call", "args"]) : textAt(encoded, args),
          schema: textAt(encoded, schema),
          result: textAt(encoded, result),
          output: textAt(encoded, output),
        }
        // Claude takes schemas of output without some keywords: it gets another one.
        const asked = dialect === "anthropic" || dialect === "cohere" ? found.output : texts.schema
        expect({ dialect, ...found }).toEqual({ dialect, ...texts, output: asked })
      }
    },
    runs,
  )
})

const sse = (...frames: ReadonlyArray<string>) =>
  frames.map((frame) => `data: ${frame.replaceAll("\n", "\ndata: ")}\n\n`).join("")

/** A call in each vendor's reply: whole, and as a stream. */
const replies: Readonly<
  Record<
    DialectName,
    { readonly whole: (args: string) => string; readonly stream: (args: string) => string | Uint8Array }
  >
> = {
  "openai-chat": {
    whole: (args) =>
      `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":${string(args)}}}]},"finish_reason":"tool_calls"}]}`,
    stream: (args) =>
      sse(
        `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}`,
        `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":${string(args.slice(0, 3))}}}]}}]}`,
        `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":${string(args.slice(3))}}}]}}]}`,
        `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
        "[DONE]",
      ),
  },
  "openai-responses": {
    whole: (args) =>
      `{"status":"completed","output":[{"type":"function_call","call_id":"c1","name":"f","arguments":${string(args)}}]}`,
    stream: (args) =>
      sse(
        `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"f","arguments":""}}`,
        `{"type":"response.function_call_arguments.delta","output_index":0,"delta":${string(args)}}`,
        `{"type":"response.completed","response":{"status":"completed","output":[]}}`,
      ),
  },
  anthropic: {
    whole: (args) =>
      `{"content":[null,{"type":"tool_use","id":"c1","name":"f","input":${args}}],"stop_reason":"tool_use"}`,
    stream: (args) =>
      sse(
        `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"f","input":${args}}}`,
        `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
        `{"type":"message_stop"}`,
      ),
  },
  gemini: {
    whole: (args) =>
      `{"candidates":[{"content":{"parts":[null,{"functionCall":{"id":"c1","name":"f","args":${args}}}]},"finishReason":"STOP"}]}`,
    stream: (args) =>
      sse(
        `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"f","args":${args}}}]},"finishReason":"STOP"}]}`,
      ),
  },
  bedrock: {
    whole: (args) =>
      `{"output":{"message":{"content":[{"toolUse":{"toolUseId":"c1","name":"f","input":${args}}}]}},"stopReason":"tool_use"}`,
    stream: (args) =>
      Buffer.concat([
        bedrockFrame("contentBlockStart", {
          contentBlockIndex: 0,
          start: { toolUse: { toolUseId: "c1", name: "f" } },
        }),
        bedrockFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: args } } }),
        bedrockFrame("messageStop", { stopReason: "tool_use" }),
        bedrockFrame("metadata", {}),
      ]),
  },
  cohere: {
    whole: (args) =>
      `{"message":{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":${string(args)}}}]},"finish_reason":"TOOL_CALL"}`,
    stream: (args) =>
      sse(
        `{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"c1","function":{"name":"f","arguments":""}}}}}`,
        `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":${string(args)}}}}}}`,
        `{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}`,
      ),
  },
}

const context: ReplyContext = { requestId: "req_1", model: "main", createdS: 0, includesUsage: false }

const replyOf = (events: ReadonlyArray<VendorEvent>): ChatReply => ({
  requestId: context.requestId,
  model: context.model,
  blocks: [...meterOf(events).blocks()],
  stop: "tool_call",
  usage: usageIn(events),
})

const wholePlaces: Readonly<Record<ClientApiName, JsonPath>> = {
  "openai-chat": ["choices", 0, "message", "tool_calls", 0, "function", "arguments"],
  "openai-responses": ["output", 0, "arguments"],
  anthropic: ["content", 0, "input"],
  gemini: ["candidates", 0, "content", "parts", 0, "functionCall", "args"],
}

const writtenWhole = (api: ClientApi, reply: ChatReply): string => writeJson(api.whole(context, reply))

const writtenStream = (encoder: EventEncoder, events: ReadonlyArray<VendorEvent>): ReadonlyArray<string> =>
  [
    ...events.map((event) => (event.kind === "delta" ? encoder.delta(event.delta, event.json) : "")),
    encoder.close({ stop: "tool_call", usage: usageIn(events) }),
  ]
    .join("")
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []))
        .join("\n"),
    )

/** The path in each client's stream of the arguments, or of a part of them. */
const streamPlaces: Readonly<Record<ClientApiName, JsonPath>> = {
  "openai-chat": ["choices", 0, "delta", "tool_calls", 0, "function", "arguments"],
  "openai-responses": ["arguments"],
  anthropic: ["delta", "partial_json"],
  gemini: wholePlaces.gemini,
}

const joinedAt = (frames: ReadonlyArray<string>, path: JsonPath): string =>
  frames.map((frame) => (frame.startsWith("{") ? (textAt(frame, path) ?? "") : "")).join("")

describe.each(dialects)("a call in a reply of %s", (dialect) => {
  const chat = chatDialects[dialect]
  const { whole, stream } = replies[dialect]

  it.prop(
    "has its arguments as they were written, for every client of a whole reply",
    [Tape],
    ([tape]) => {
      const { args } = textsOf(tape)
      const reply = replyOf(chat.decodeBody(whole(args)))
      const twp = writeJson(reply)
      expect(textAt(twp, ["blocks", 0, "input"])).toBe(args)
      const isChanged = JSON.stringify(JSON.parse(args)) !== args
      expect(textAt(twp, ["blocks", 0, "json"])).toBe(isChanged ? args : undefined)
      // A reply that was kept is read again.
      const kept = Schema.decodeUnknownSync(Schema.fromJsonString(ChatReply))(twp)
      for (const [name, api] of Object.entries(clientApis)) {
        const place = isApiName(name) ? wholePlaces[name] : []
        expect({ name, args: textAt(writtenWhole(api, reply), place) }).toEqual({ name, args })
        expect({ name, args: textAt(writtenWhole(api, kept), place) }).toEqual({ name, args })
      }
      // The reply is sent back unchanged.
      const thread = `[{"role":"assistant","blocks":${new JsonSource(twp).textAt(["blocks"])}}]`
      const encoded = encodedFor("twp/1", "anthropic", `{"model":"main","thread":${thread}}`)
      expect(textAt(encoded, ["messages", 0, "content", 0, "input"])).toBe(args)
    },
    runs,
  )

  it.prop(
    "has its arguments as they were written, for every client of a stream",
    [Tape],
    ([tape]) => {
      const { args } = textsOf(tape)
      const events = () => chat.decoder().push(Buffer.from(stream(args)))
      for (const [name, api] of Object.entries(clientApis)) {
        const frames = writtenStream(api.events(context), events())
        const place = isApiName(name) ? streamPlaces[name] : []
        const found = frames.filter((frame) => name !== "openai-responses" || frame.includes("arguments.done"))
        expect({ name, args: joinedAt(found, place) }).toEqual({ name, args })
      }
      expect(joinedAt(writtenStream(new EventWriter(), events()), ["args"])).toBe(args)
    },
    runs,
  )
})
