/**
 * Replies of Converse, whole and streamed. A stream is complete with `metadata`, which has the usage and comes after
 * `messageStop`. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */

import { type Citation, citationWith } from "../../protocol/citation.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type Decoder, malformed, missingSides, nonZero, type VendorEvent, type VendorUsage } from "../chat-dialect.ts"
import {
  BlockNumbers,
  citationsDelta,
  reasoningDelta,
  signatureDelta,
  textDelta,
  toolCallArgs,
  toolCallOpen,
} from "../parse/blocks.ts"
import {
  countAt,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  placedObjectsAt,
  reportedCountAt,
  stringAt,
} from "../parse/json.ts"
import { signFor } from "../vendor/signature.ts"
import { type EventFrame, EventFrames } from "./event-stream.ts"
import { bedrockFault } from "./faults.ts"

/** A streamed reply. */
export const decodeStream = (): Decoder => {
  const frames = new EventFrames()
  const reply = new ReplyReader()
  return {
    push: (bytes) => {
      if (frames.isBroken) return []
      const events: Array<VendorEvent> = []
      for (const frame of frames.push(bytes)) {
        reply.readFrame(frame, events)
      }
      if (frames.isBroken) events.push(malformed)
      return events
    },
    // A frame without its end is no frame, and a reply without `metadata` is not complete.
    end: () => [],
  }
}

/** A whole reply. */
export const decodeBody = (body: string): ReadonlyArray<VendorEvent> => {
  const json = parseObject(body)
  const message = objectAt(objectAt(json, "output"), "message")
  if (json === undefined || !Array.isArray(message?.["content"])) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  const source = new JsonSource(body)
  for (const [index, block] of placedObjectsAt(message, "content")) {
    reply.readBlock(String(index), block, events, () =>
      source.textAt(["output", "message", "content", index, "toolUse", "input"]),
    )
  }
  reply.stopsWith(stringAt(json, "stopReason"))
  reply.complete(json, events)
  return events
}

class ReplyReader {
  readonly #blocks = new BlockNumbers()
  #stopReason: string | undefined
  #metadata: JsonObject | undefined

  readFrame({ kind, type, json }: EventFrame, events: Array<VendorEvent>): void {
    if (kind !== "event") {
      events.push(bedrockFault(type, json))
      return
    }
    const event = parseObject(json)
    if (event === undefined) {
      events.push(malformed)
      return
    }
    const key = String(numberAt(event, "contentBlockIndex") ?? 0)
    switch (type) {
      case "contentBlockStart":
        this.#openCall(key, objectAt(objectAt(event, "start"), "toolUse"), events)
        if (unread.some((name) => objectAt(objectAt(event, "start"), name) !== undefined)) events.push(malformed)
        return
      case "contentBlockDelta":
        this.#readDelta(key, objectAt(event, "delta"), events)
        return
      case "messageStop":
        this.stopsWith(stringAt(event, "stopReason"))
        break
      case "metadata":
        this.#metadata = event
        break
      default: // messageStart, contentBlockStop, and future kinds
        return
    }
    // They come in this order, and both are needed.
    if (this.#stopReason !== undefined && this.#metadata !== undefined) this.complete(this.#metadata, events)
  }

  /** A block of a whole reply. @param inputText the original text of its call's input */
  readBlock(key: string, block: JsonObject, events: Array<VendorEvent>, inputText: () => string | undefined): void {
    const call = objectAt(block, "toolUse")
    // Tools that Bedrock itself runs stay with Bedrock.
    if (call !== undefined && stringAt(call, "type") !== "server_tool_use") {
      this.#openCall(key, call, events)
      const input = objectAt(call, "input")
      if (input !== undefined && Object.keys(input).length > 0) {
        events.push(toolCallArgs(this.#blocks.of(key), inputText() ?? "{}"))
      }
      return
    }
    if (unread.some((name) => objectAt(block, name) !== undefined)) {
      events.push(malformed)
      return
    }
    const cited = objectAt(block, "citationsContent")
    if (cited !== undefined) this.#readCited(key, cited, events)
    const reasoning = objectAt(block, "reasoningContent")
    const reasoned = objectAt(reasoning, "reasoningText")
    if (reasoned !== undefined) this.#readReasoning(key, reasoned, events)
    else if (reasoning !== undefined) this.#readReasoning(key, reasoning, events)
    else this.#readDelta(key, block, events)
  }

  /** Text with its citations, whole in one block. */
  #readCited(key: string, cited: JsonObject, events: Array<VendorEvent>): void {
    for (const part of objectsAt(cited, "content")) this.#readDelta(key, part, events)
    this.#cite(key, objectsAt(cited, "citations"), events)
  }

  #cite(key: string, citations: ReadonlyArray<JsonObject>, events: Array<VendorEvent>): void {
    if (citations.length > 0) events.push(citationsDelta(this.#blocks.of(key), citations.map(citationOf)))
  }

  #openCall(key: string, call: JsonObject | undefined, events: Array<VendorEvent>): void {
    if (call === undefined || stringAt(call, "type") === "server_tool_use") return
    const i = this.#blocks.of(key)
    events.push(toolCallOpen(i, stringAt(call, "toolUseId") ?? `call_${i}`, stringAt(call, "name") ?? ""))
  }

  #readDelta(key: string, delta: JsonObject | undefined, events: Array<VendorEvent>): void {
    const text = stringAt(delta, "text")
    if (text) events.push(textDelta(this.#blocks.of(key), text))
    const args = stringAt(objectAt(delta, "toolUse"), "input")
    if (args && this.#blocks.isOpen(key)) events.push(toolCallArgs(this.#blocks.of(key), args))
    const citation = objectAt(delta, "citation")
    if (citation !== undefined) this.#cite(key, [citation], events)
    const reasoning = objectAt(delta, "reasoningContent")
    if (reasoning !== undefined) this.#readReasoning(key, reasoning, events)
  }

  #readReasoning(key: string, reasoning: JsonObject, events: Array<VendorEvent>): void {
    const text = stringAt(reasoning, "text")
    if (text) events.push(reasoningDelta(this.#blocks.of(key), text))
    const signature = stringAt(reasoning, "signature")
    if (signature) events.push(signatureDelta(this.#blocks.of(key), signFor("anthropic", signature)))
    const redacted = stringAt(reasoning, "redactedContent")
    if (redacted) {
      // A blob in base64; it contains the text that Claude's own API has.
      const v = Buffer.from(redacted, "base64").toString("utf8")
      events.push({ kind: "delta", delta: { i: this.#blocks.of(key), t: "reasoning", v, redacted: true } })
    }
  }

  stopsWith(reason: string | undefined): void {
    this.#stopReason = reason ?? "unknown"
  }

  /** Usage, the stop, and the end. */
  complete(report: JsonObject, events: Array<VendorEvent>): void {
    const usage = objectAt(report, "usage")
    if (usage !== undefined) events.push({ kind: "usage", usage: usageOf(usage), final: true })
    const tier = stringAt(objectAt(report, "serviceTier"), "type")
    if (tier !== undefined) events.push({ kind: "tier", tier })
    events.push({ kind: "stop", stop: entryOf(stops, this.#stopReason) ?? "end" }, { kind: "done" })
  }
}

/** Media in a reply, which twp/1's chat does not support. */
const unread = ["image", "document", "video", "audio"]

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html */
const citationOf = (cited: JsonObject): Citation => {
  const text = objectsAt(cited, "sourceContent")
    .map((part) => stringAt(part, "text") ?? "")
    .join("")
  return citationWith({
    url: stringAt(objectAt(objectAt(cited, "location"), "web"), "url"),
    title: stringAt(cited, "title"),
    text: text === "" ? undefined : text,
    source: stringAt(cited, "source"),
  })
}

const usageOf = (usage: JsonObject): VendorUsage => {
  const inTokens = countAt(usage, "inputTokens")
  const outTokens = countAt(usage, "outputTokens")
  const cacheReadTokens = countAt(usage, "cacheReadInputTokens")
  const details = objectsAt(usage, "cacheDetails")
  const written = (ttl?: string) =>
    details.reduce((sum, one) => (ttl === undefined || one["ttl"] === ttl ? sum + countAt(one, "inputTokens") : sum), 0)
  // Some models report a write twice while they think and stream; the total and the details have it once.
  const total = reportedCountAt(usage, "totalTokens") ?? 0
  const limits = [total - inTokens - outTokens - cacheReadTokens, written()].filter((limit) => limit > 0)
  const cacheWriteTokens = Math.min(countAt(usage, "cacheWriteInputTokens"), ...limits)
  return {
    inTokens,
    outTokens,
    cacheReadTokens,
    cacheWriteTokens,
    dims: nonZero({ cache_write_1h: Math.min(written("1h"), cacheWriteTokens) }),
    ...missingSides(usage, {
      input: { anyOf: ["inputTokens"], added: ["cacheReadInputTokens", "cacheWriteInputTokens"] },
      output: { anyOf: ["outputTokens"] },
    }),
  }
}

const stops: Readonly<Record<string, Stop>> = {
  end_turn: "end",
  max_tokens: "max_tokens",
  model_context_window_exceeded: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_use: "tool_call",
  guardrail_intervened: "filtered",
  content_filtered: "filtered",
  malformed_model_output: "malformed_call",
  malformed_tool_use: "malformed_call",
}
