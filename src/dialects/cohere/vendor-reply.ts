/** Chat in Cohere's format: the reply, streamed and whole. Source: https://docs.cohere.com/v2/docs/streaming */

import { type Citation, citationWith } from "../../protocol/citation.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type Decoder, malformed, missingSides, nonZero, type VendorEvent, type VendorUsage } from "../chat-dialect.ts"
import { BlockNumbers, citationsDelta, reasoningDelta, textDelta, toolCallArgs, toolCallOpen } from "../parse/blocks.ts"
import { countAt, type JsonObject, numberAt, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import { makeSseDecoder } from "../parse/sse-frames.ts"
import { cohereFault } from "./faults.ts"

/** A streamed reply. */
export function decodeStream(): Decoder {
  const reply = new ReplyReader()
  return makeSseDecoder((data, events) => reply.readFrame(parseObject(data), events))
}

/** A whole reply. */
export function decodeBody(body: string): ReadonlyArray<VendorEvent> {
  const json = parseObject(body)
  const message = objectAt(json, "message")
  if (message === undefined) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  reply.readPlan(message, events)
  objectsAt(message, "content").forEach((content, index) => {
    reply.readContent(index, content, events)
  })
  objectsAt(message, "tool_calls").forEach((call, index) => {
    reply.openCall(index, call, events)
  })
  reply.cite(objectsAt(message, "citations"), events)
  reply.readEnd(json, events)
  return events
}

class ReplyReader {
  readonly #blocks = new BlockNumbers()
  /** Contents that are text: thoughts have citations too, which no other API has. */
  readonly #texts = new Set<number>()

  readFrame(frame: JsonObject | undefined, events: Array<VendorEvent>): void {
    const index = numberAt(frame, "index") ?? 0
    const delta = objectAt(frame, "delta")
    const message = objectAt(delta, "message")
    switch (stringAt(frame, "type")) {
      case "content-start":
      case "content-delta":
        this.readContent(index, objectAt(message, "content"), events)
        return
      case "tool-plan-delta":
        this.readPlan(message, events)
        return
      case "tool-call-start":
        this.openCall(index, objectAt(message, "tool_calls"), events)
        return
      case "tool-call-delta": {
        const args = stringAt(objectAt(objectAt(message, "tool_calls"), "function"), "arguments")
        if (args) events.push(toolCallArgs(this.#blocks.of(`call ${index}`), args))
        return
      }
      case "citation-start":
        this.cite([objectAt(message, "citations") ?? {}], events)
        return
      case "message-end":
        this.readEnd(delta, events)
        return
      case undefined:
        events.push(malformed)
        return
      default: // message-start, content-end, tool-call-end, citation-end, and future kinds
        return
    }
  }

  /** The model's plan for its tools. */
  readPlan(message: JsonObject | undefined, events: Array<VendorEvent>): void {
    const plan = stringAt(message, "tool_plan")
    if (plan) events.push(reasoningDelta(this.#blocks.of("plan"), plan))
  }

  readContent(index: number, content: JsonObject | undefined, events: Array<VendorEvent>): void {
    const key = `content ${index}`
    const thinking = stringAt(content, "thinking")
    if (thinking) events.push(reasoningDelta(this.#blocks.of(key), thinking))
    const text = stringAt(content, "text")
    if (!text) return
    this.#texts.add(index)
    events.push(textDelta(this.#blocks.of(key), text))
  }

  /** A citation names the content that it is about, and each of its sources. Source: https://docs.cohere.com/docs/documents-and-citations */
  cite(citations: ReadonlyArray<JsonObject>, events: Array<VendorEvent>): void {
    for (const citation of citations) {
      const [first = 0] = this.#texts
      const index = numberAt(citation, "content_index") ?? first
      if (!this.#texts.has(index)) continue
      const cited = objectsAt(citation, "sources").map((source) => citationOf(citation, source))
      if (cited.length > 0) events.push(citationsDelta(this.#blocks.of(`content ${index}`), cited))
    }
  }

  openCall(index: number, call: JsonObject | undefined, events: Array<VendorEvent>): void {
    const i = this.#blocks.of(`call ${index}`)
    const named = objectAt(call, "function")
    events.push(toolCallOpen(i, stringAt(call, "id") ?? `call_${i}`, stringAt(named, "name") ?? ""))
    const args = stringAt(named, "arguments")
    if (args) events.push(toolCallArgs(i, args))
  }

  readEnd(end: JsonObject | undefined, events: Array<VendorEvent>): void {
    const usage = objectAt(end, "usage")
    if (usage !== undefined) events.push({ kind: "usage", usage: usageOf(usage), final: true })
    const reason = stringAt(end, "finish_reason")
    const fault = cohereFault(reason ?? "")
    if (fault !== undefined) events.push({ kind: "fault", fault })
    else events.push({ kind: "stop", stop: entryOf(stops, reason) ?? "end" }, { kind: "done" })
  }
}

const citationOf = (citation: JsonObject, source: JsonObject): Citation => {
  const document = objectAt(source, "document")
  return citationWith({
    url: stringAt(document, "url"),
    title: stringAt(document, "title"),
    start: countAt(citation, "start"),
    end: countAt(citation, "end"),
    source: stringAt(source, "id"),
  })
}

/** Cohere bills `billed_units`; `tokens` have its own preamble too. */
function usageOf(usage: JsonObject): VendorUsage {
  const tokens = objectAt(usage, "tokens") ?? {}
  const billed = objectAt(usage, "billed_units") ?? tokens
  return {
    inTokens: countAt(billed, "input_tokens"),
    outTokens: countAt(billed, "output_tokens"),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    dims: nonZero({
      obs_input_tokens: countAt(tokens, "input_tokens"),
      obs_output_tokens: countAt(tokens, "output_tokens"),
      obs_cached_tokens: countAt(usage, "cached_tokens"),
    }),
    ...missingSides(billed, { input: { anyOf: ["input_tokens"] }, output: { anyOf: ["output_tokens"] } }),
  }
}

const stops: Readonly<Record<string, Stop>> = {
  COMPLETE: "end",
  MAX_TOKENS: "max_tokens",
  STOP_SEQUENCE: "stop_sequence",
  TOOL_CALL: "tool_call",
  ERROR_TOXIC: "filtered",
}
