/**
 * The dialect `openai-chat`: OpenAI's chat completions, streamed and not, which many vendors speak with odd extras.
 * Source: https://platform.openai.com/docs/api-reference/chat
 */
import { Result } from "effect"
import type { Stop } from "../../protocol/exchange.ts"
import { type BlockNumbers, makeBlockNumbers, reasoningDelta, textDelta, toolCallArgs, toolCallOpen } from "./blocks.ts"
import { type Decoder, type Dialect, malformed, nonZero, type VendorEvent, type VendorUsage } from "./dialect.ts"
import { countAt, type JsonObject, numberAt, objectAt, objectsAt, parseObject, stringAt } from "./json.ts"
import { encodeChat } from "./openai-chat-encode.ts"
import { makeSseDecoder } from "./sse-frames.ts"

export const openaiChat: Dialect = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  encode: (request) =>
    Result.map(encodeChat(request), (body) => ({
      path: "/chat/completions",
      headers: { accept: request.stream ? "text/event-stream" : "application/json" },
      body: JSON.stringify(body),
    })),
  decoder,
  decodeBody,
  decodeError: (status, body) => ({ status, code: errorCode(objectAt(parseObject(body), "error")) }),
}

function decoder(): Decoder {
  const reply = new ReplyReader()
  return makeSseDecoder((data, events) => {
    if (data === "[DONE]") events.push({ kind: "done" })
    else reply.readChunk(parseObject(data), events)
  })
}

function decodeBody(body: string): ReadonlyArray<VendorEvent> {
  const json = parseObject(body)
  if (json === undefined) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  const choice = objectsAt(json, "choices")[0]
  if (choice === undefined && objectAt(json, "error") === undefined) return [malformed]
  reply.readReply(json, choice, objectAt(choice, "message"), events)
  events.push({ kind: "done" })
  return events
}

/** Reads whole replies and chunks alike: a chunk's `delta` and a reply's `message` have the same fields. */
class ReplyReader {
  readonly #blocks: BlockNumbers = makeBlockNumbers()
  #refused = false

  readChunk(chunk: JsonObject | undefined, events: Array<VendorEvent>): void {
    if (chunk === undefined) {
      events.push(malformed)
      return
    }
    const choice = objectsAt(chunk, "choices").find((candidate) => (numberAt(candidate, "index") ?? 0) === 0)
    this.readReply(chunk, choice, objectAt(choice, "delta"), events)
  }

  readReply(
    reply: JsonObject,
    choice: JsonObject | undefined,
    content: JsonObject | undefined,
    events: Array<VendorEvent>,
  ): void {
    const error = objectAt(reply, "error")
    if (error !== undefined) {
      events.push({ kind: "fault", fault: { status: errorStatus(error), code: errorCode(error) } })
      return
    }
    this.#readContent(content, events)
    const finish = stringAt(choice, "finish_reason")
    // Usage is read wherever it stands: beside choices, after them, or inside one (Moonshot).
    const usage = objectAt(reply, "usage") ?? objectAt(choice, "usage")
    if (usage !== undefined) events.push({ kind: "usage", usage: readUsage(usage), final: true })
    if (finish) events.push({ kind: "stop", stop: this.#refused ? "filtered" : stopOf(finish) })
  }

  #readContent(content: JsonObject | undefined, events: Array<VendorEvent>): void {
    if (content === undefined) return
    const reasoning = stringAt(content, "reasoning_content") ?? stringAt(content, "reasoning")
    if (reasoning) events.push(reasoningDelta(this.#blocks.of("reasoning"), reasoning))
    const text = stringAt(content, "content")
    if (text) events.push(textDelta(this.#blocks.of("text"), text))
    const refusal = stringAt(content, "refusal")
    if (refusal) {
      this.#refused = true
      events.push(textDelta(this.#blocks.of("text"), refusal))
    }
    objectsAt(content, "tool_calls").forEach((call, position) => {
      this.#readToolCall(call, position, events)
    })
  }

  #readToolCall(call: JsonObject, position: number, events: Array<VendorEvent>): void {
    const key = `tool ${numberAt(call, "index") ?? position}`
    const fn = objectAt(call, "function")
    if (!this.#blocks.isOpen(key)) {
      const index = this.#blocks.of(key)
      events.push(toolCallOpen(index, stringAt(call, "id") ?? `call_${index}`, stringAt(fn, "name") ?? ""))
    }
    const args = stringAt(fn, "arguments")
    if (args) events.push(toolCallArgs(this.#blocks.of(key), args))
  }
}

const stops: Readonly<Record<string, Stop>> = {
  stop: "end",
  length: "max_tokens",
  tool_calls: "tool_call",
  function_call: "tool_call",
  content_filter: "filtered",
}

const stopOf = (finish: string): Stop => stops[finish] ?? "end"

function readUsage(usage: JsonObject): VendorUsage {
  const input = objectAt(usage, "prompt_tokens_details")
  const output = objectAt(usage, "completion_tokens_details")
  const cacheReadTokens = countAt(input, "cached_tokens")
  const cacheWriteTokens = countAt(input, "cache_write_tokens")
  return {
    inTokens: Math.max(0, countAt(usage, "prompt_tokens") - cacheReadTokens - cacheWriteTokens),
    outTokens: countAt(usage, "completion_tokens"),
    cacheReadTokens,
    cacheWriteTokens,
    dims: nonZero({
      reasoning: countAt(output, "reasoning_tokens"),
      audio_in: countAt(input, "audio_tokens"),
      audio_out: countAt(output, "audio_tokens"),
      obs_accepted_prediction: countAt(output, "accepted_prediction_tokens"),
      obs_rejected_prediction: countAt(output, "rejected_prediction_tokens"),
    }),
  }
}

const errorCode = (error: JsonObject | undefined): string =>
  stringAt(error, "code") ?? stringAt(error, "type") ?? "unknown"

/** An error frame inside a stream has no HTTP status; some vendors put one into `code`. */
const errorStatus = (error: JsonObject): number => {
  const code = numberAt(error, "code") ?? numberAt(error, "status")
  return code !== undefined && code >= 400 && code <= 599 ? code : 502
}
