/** An example of each word of twp/1 that not every API has, beside the same without the word. */
import type { ReplyBlock } from "../../src/protocol/block.ts"
import type { ExchangeRequest, ExchangeResponse } from "../../src/protocol/exchange.ts"

export type Asked = Pick<ExchangeRequest, "thread" | "tools" | "params">

export interface Word<A> {
  readonly word: string
  /** The word's name in twp/1. */
  readonly place: string
  readonly without: A
  readonly with: A
  /** The same in an API that has a form of its own. */
  readonly at?: Readonly<Record<string, A>>
  /** A tool that an API needs to support the word. */
  readonly beside?: Readonly<Record<string, NonNullable<ExchangeRequest["tools"]>[number]>>
}

const hello: ExchangeRequest["thread"] = [{ role: "user", blocks: [{ t: "text", v: "Hello, in JSON" }] }]
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
}
const tool = { name: "weather", inputSchema: schema }
const picture = { t: "image", mime: "image/png", data: "iVBORw0KGgo=" } as const

/** A thread in which a tool was called. */
const loop = (call: object, result: object = {}): ExchangeRequest["thread"] => [
  ...hello,
  { role: "assistant", blocks: [{ t: "tool_call", id: "call_1", name: "weather", input: { n: 1.1 }, ...call }] },
  { role: "tool", blocks: [{ t: "tool_result", id: "call_1", v: "Rain", ...result }] },
]
const pictured = { t: "tool_result", id: "call_1", blocks: [{ t: "text", v: "Rain" }, picture] } as const
const system = (cacheable: true | "1h" | undefined): ExchangeRequest["thread"] => [
  { role: "system", blocks: [{ t: "text", v: "Be brief", ...(cacheable !== undefined && { cacheable }) }] },
  ...hello,
]
const said = (more: object): ExchangeRequest["thread"] => [
  ...hello,
  { role: "assistant", blocks: [{ t: "text", v: "Hi", ...more }] },
  ...hello,
]
const offering = (...tools: NonNullable<ExchangeRequest["tools"]>): Asked => ({ thread: hello, tools })
const asking = (params: ExchangeRequest["params"] = {}): Asked => ({ thread: hello, params })

export const requestWords: ReadonlyArray<Word<Asked>> = [
  {
    word: "strict tools",
    place: "tools[].strict",
    without: offering(tool),
    with: offering({ ...tool, strict: true }),
  },
  {
    word: "tools that are found later",
    place: "tools[].deferred",
    without: offering(tool),
    with: offering({ ...tool, deferred: true }),
    beside: {
      anthropic: { kind: "vendor", dialect: "anthropic", v: '{"type":"tool_search_tool_bm25_20251119","name":"find"}' },
      "openai-responses": { kind: "vendor", dialect: "openai", v: '{"type":"tool_search"}' },
    },
  },
  {
    word: "tools that take a text",
    place: "tools[].kind: text",
    without: offering(tool),
    with: offering(tool, { kind: "text", name: "patch" }),
  },
  {
    word: "tools that a vendor defines",
    place: "tools[].kind: vendor",
    without: offering(tool),
    with: offering(tool, { kind: "vendor", dialect: "anthropic", v: '{"type":"bash_20250124","name":"bash"}' }),
    at: {
      "openai-responses": offering(tool, { kind: "vendor", dialect: "openai", v: '{"type":"local_shell"}' }),
      gemini: offering(tool, {
        kind: "vendor",
        dialect: "gemini",
        v: '{"computerUse":{"environment":"ENVIRONMENT_BROWSER"}}',
      }),
    },
  },
  {
    word: "exact JSON of a call",
    place: "tool_call.json",
    without: { thread: loop({}), tools: [tool] },
    with: { thread: loop({ json: '{"n":1.10}' }), tools: [tool] },
  },
  {
    word: "pictures in results",
    place: "tool_result.blocks",
    without: { thread: loop({}), tools: [tool] },
    with: { thread: [...loop({}).slice(0, 2), { role: "tool", blocks: [pictured] }], tools: [tool] },
  },
  {
    word: "closeness of a picture",
    place: "image.detail",
    without: { thread: [{ role: "user", blocks: [picture] }] },
    with: { thread: [{ role: "user", blocks: [{ ...picture, detail: "low" }] }] },
  },
  {
    word: "cache breakpoint",
    place: "text.cacheable",
    without: { thread: system(undefined) },
    with: { thread: system(true) },
  },
  {
    word: "breakpoint of an hour",
    place: 'text.cacheable: "1h"',
    without: { thread: system(true) },
    with: { thread: system("1h") },
  },
  {
    word: "phase",
    place: "text.phase",
    without: { thread: said({}) },
    with: { thread: said({ phase: "commentary" }) },
  },
  {
    word: "effort without thinking",
    place: "params.effort",
    without: asking(),
    with: asking({ effort: "low" }),
  },
  {
    word: "reasoning",
    place: "params.reasoning",
    without: asking(),
    with: asking({ reasoning: "high" }),
  },
  {
    word: "more reasoning",
    place: "params.reasoning: xhigh",
    without: asking({ reasoning: "high" }),
    with: asking({ reasoning: "xhigh" }),
  },
  {
    word: "what is shown of reasoning",
    place: "params.reasoningDisplay",
    without: asking({ reasoning: "high" }),
    with: asking({ reasoning: "high", reasoningDisplay: "omitted" }),
  },
  {
    word: "any JSON object",
    place: 'params.output: "json"',
    without: asking(),
    with: asking({ output: "json" }),
  },
  {
    word: "output by a schema",
    place: "params.output.schema",
    without: asking(),
    with: asking({ output: { schema } }),
  },
  { word: "stop sequences", place: "params.stop", without: asking(), with: asking({ stop: ["END"] }) },
]

export type Said = Pick<ExchangeResponse, "blocks" | "stop" | "stopSequence">

const saying = (block: ReplyBlock): Said => ({ blocks: [block], stop: block.t === "tool_call" ? "tool_call" : "end" })
const rain = { t: "text", v: "Rain" } as const
const called = { t: "tool_call", id: "call_1", name: "weather", input: { n: 1.1 } } as const
const ended = (stop: Said["stop"]): Said => ({ blocks: [rain], stop })

export const replyWords: ReadonlyArray<Word<Said>> = [
  {
    word: "citations",
    place: "text.citations",
    without: saying(rain),
    with: saying({
      ...rain,
      citations: [{ url: "https://example.com", title: "Weather", text: "Rain", start: 0, end: 4 }],
    }),
  },
  { word: "phase", place: "text.phase", without: saying(rain), with: saying({ ...rain, phase: "commentary" }) },
  {
    word: "call with a text",
    place: "tool_call.text",
    without: saying({ ...called, input: {} }),
    with: saying({ ...called, input: {}, text: "a" }),
  },
  {
    word: "exact JSON of a call",
    place: "tool_call.json",
    without: saying(called),
    with: saying({ ...called, json: '{"n":1.10}' }),
  },
  { word: "a turn that is to go on", place: "stop: pause", without: ended("end"), with: ended("pause") },
  { word: "the model declines", place: "stop: refusal", without: ended("end"), with: ended("refusal") },
  { word: "the vendor withholds", place: "stop: filtered", without: ended("end"), with: ended("filtered") },
  {
    word: "a call that cannot be read",
    place: "stop: malformed_call",
    without: ended("end"),
    with: ended("malformed_call"),
  },
  {
    word: "which stop sequence matched",
    place: "stopSequence",
    without: ended("stop_sequence"),
    with: { ...ended("stop_sequence"), stopSequence: "END" },
  },
]
