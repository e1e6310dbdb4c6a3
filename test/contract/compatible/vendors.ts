/** The answers of vendors in tests of compatible routes. */
import type { ScriptedVendor, VendorScript } from "../../../src/testing/scripted-vendor.ts"
import {
  anthropicFrame,
  bedrockFrame,
  inAmazonFrames,
  openaiChunk,
  openaiFrame,
} from "../../../src/testing/vendor-replies.ts"
import { eventually } from "../../support/gateway.ts"

/** The last request that a vendor got, as JSON text; JSON in a string of it reads like JSON outside. */
export const vendorBodyOf = (vendor: ScriptedVendor): string =>
  JSON.stringify(vendor.calls.at(-1)?.body).replaceAll('\\"', '"')

/** Breaks the connection after a part of the answer. */
export const breaksOff: VendorScript = async ({ head, write, wait, reset }) => {
  head()
  await write(openaiChunk("Hel"))
  await wait(50)
  reset()
}

/** Anthropic's answer with thoughts, of which some are sealed. */
export const thinks: VendorScript = async ({ head, write, end }) => {
  head()
  for (const frame of thinkingFrames) await write(anthropicFrame(frame))
  end()
}

export const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "upstream",
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 1 },
}

const thinkingFrames = [
  { type: "message_start", message },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2lnbmVk" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "redacted_thinking", data: "c2VhbGVk" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "Yes." } },
  { type: "content_block_stop", index: 2 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
]

/** The same as a client sends it back. */
export const thought = [
  { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
  { type: "redacted_thinking", data: "c2VhbGVk" },
  { type: "text", text: "Yes." },
]

/** Stops after a part of the answer. */
export const stalls: VendorScript = async ({ head, write, wait }) => {
  head()
  await write(openaiChunk("Hel"))
  await wait(10_000)
}

/**
 * The time until the vendor sees that a client has left, in ms: the best of three, because other tests share the
 * processor.
 * @param begin starts a stream, reads its first event, and returns how to abort it
 */
export const msUntilGone = async (vendor: ScriptedVendor, begin: () => Promise<() => void>): Promise<number> => {
  vendor.script(stalls)
  let bestMs = Infinity
  for (let tries = 0; tries < 3; tries++) {
    const abort = await begin()
    const startedMs = Date.now()
    abort()
    await eventually(() => vendor.calls.at(-1)?.hungUpAt !== undefined)
    bestMs = Math.min(bestMs, (vendor.calls.at(-1)?.hungUpAt ?? Infinity) - startedMs)
  }
  return bestMs
}

const calls = [
  { id: "call_1", name: "weather", args: ['{"city":', '"Oslo"}'] },
  { id: "call_2", name: "weather", args: ['{"city":"Rome"}'] },
]

/** Two tool calls at once, in the dialect of the request's path. */
export const callsTools: VendorScript = async ({ path, head, write, end }) => {
  head(200, { "content-type": path.startsWith("/model/") ? "application/vnd.amazon.eventstream" : "text/event-stream" })
  for (const frame of framesFor(path)) await write(frame)
  end()
}

const framesFor = (path: string): ReadonlyArray<string | Uint8Array> => {
  if (path.endsWith("/converse-stream")) return converseFrames
  if (path.startsWith("/model/")) return inAmazonFrames(messagesFrames)
  if (path.endsWith("/chat/completions")) return chatFrames
  if (path.endsWith("/messages") || path.endsWith(":streamRawPredict")) return messagesFrames
  return path.endsWith("/responses") ? responsesFrames : geminiFrames
}

const chatFrames = [
  chatDelta({ role: "assistant", content: null }),
  ...calls.flatMap(({ id, name, args }, index) => [
    chatDelta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    ...args.map((text) => chatDelta({ tool_calls: [{ index, function: { arguments: text } }] })),
  ]),
  openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }),
  openaiFrame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
  openaiFrame("[DONE]"),
]

function chatDelta(delta: object): string {
  return openaiFrame({ choices: [{ index: 0, delta, finish_reason: null }] })
}

const messagesFrames = [
  anthropicFrame({ type: "message_start", message }),
  ...calls.flatMap(({ id, name, args }, index) => [
    anthropicFrame({ type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } }),
    ...args.map((text) =>
      anthropicFrame({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: text } }),
    ),
    anthropicFrame({ type: "content_block_stop", index }),
  ]),
  anthropicFrame({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } }),
  anthropicFrame({ type: "message_stop" }),
]

const converseFrames = [
  bedrockFrame("messageStart", { role: "assistant" }),
  ...calls.flatMap(({ id, name, args }, contentBlockIndex) => [
    bedrockFrame("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }),
    ...args.map((input) => bedrockFrame("contentBlockDelta", { contentBlockIndex, delta: { toolUse: { input } } })),
    bedrockFrame("contentBlockStop", { contentBlockIndex }),
  ]),
  bedrockFrame("messageStop", { stopReason: "tool_use" }),
  bedrockFrame("metadata", { usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } }),
]

const responsesFrames = [
  openaiFrame({
    type: "response.created",
    response: { id: "resp_1", object: "response", model: "upstream", output: [] },
  }),
  ...calls.flatMap(({ id, name, args }, index) => [
    openaiFrame({
      type: "response.output_item.added",
      output_index: index,
      item: { type: "function_call", id: `fc_${index}`, call_id: id, name, arguments: "" },
    }),
    ...args.map((delta) =>
      openaiFrame({
        type: "response.function_call_arguments.delta",
        output_index: index,
        item_id: `fc_${index}`,
        delta,
      }),
    ),
    openaiFrame({
      type: "response.output_item.done",
      output_index: index,
      item: {
        type: "function_call",
        id: `fc_${index}`,
        status: "completed",
        call_id: id,
        name,
        arguments: args.join(""),
      },
    }),
  ]),
  openaiFrame({
    type: "response.completed",
    response: {
      id: "resp_1",
      object: "response",
      model: "upstream",
      status: "completed",
      output: calls.map(({ id, name, args }, at) => ({
        type: "function_call",
        id: `fc_${at}`,
        status: "completed",
        call_id: id,
        name,
        arguments: args.join(""),
      })),
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    },
  }),
]

const geminiFrames = [
  openaiFrame({
    candidates: [
      {
        content: {
          role: "model",
          parts: calls.map(({ name, args }) => ({ functionCall: { name, args: JSON.parse(args.join("")) } })),
        },
        finishReason: "STOP",
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  }),
]
