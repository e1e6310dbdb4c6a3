/**
 * OpenAI's responses as vendors send them, streamed and whole.
 * Source: https://platform.openai.com/docs/api-reference/responses and /responses-streaming
 */

import type { Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import {
  type Decoder,
  malformed,
  missingSides,
  nonZero,
  splitInput,
  type VendorEvent,
  type VendorUsage,
} from "../chat-dialect.ts"
import { citationOf } from "../openai-chat/citations.ts"
import { openaiFault } from "../openai-chat/faults.ts"
import { decodeChatBody } from "../openai-chat/vendor-reply.ts"
import {
  BlockNumbers,
  citationsDelta,
  reasoningDelta,
  signatureDelta,
  textCallOpen,
  textCallPart,
  textDelta,
  toolCallArgs,
  toolCallOpen,
  vendorDelta,
} from "../parse/blocks.ts"
import {
  countAt,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  placedObjectsAt,
  stringAt,
} from "../parse/json.ts"
import { makeSseDecoder, noMore } from "../parse/sse-frames.ts"
import { tokensOf } from "../vendor/logprobs.ts"
import { DoneItems } from "./done-items.ts"
import { HostedCount } from "./hosted-count.ts"
import { reasoningSignature } from "./vendor-request.ts"

/** A streamed reply. */
export function decodeStream(carries = false): Decoder {
  const reply = new ReplyReader()
  const done = carries ? new DoneItems() : undefined
  let whole: string | undefined
  const read = (data: string, events: Array<VendorEvent>) => {
    const frame = data === "[DONE]" ? undefined : parseObject(data)
    whole = done?.read(frame, data)
    if (data !== "[DONE]") reply.readFrame(frame, data, events)
  }
  return makeSseDecoder(read, carries, noMore, (data) => whole ?? data)
}

/** A whole reply. */
export function decodeBody(body: string): ReadonlyArray<VendorEvent> {
  const json = parseObject(body)
  if (json === undefined) return [malformed]
  // Azure answers in the older format for models that are not OpenAI's.
  if (Array.isArray(json["choices"])) return decodeChatBody(body)
  if (!Array.isArray(json["output"]) && objectAt(json, "error") === undefined) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  const source = new JsonSource(body)
  for (const [index, item] of placedObjectsAt(json, "output")) {
    reply.closeItem(index, item, events, () => source.textAt(["output", index]))
  }
  reply.close(json, events)
  return events
}

type TextOf = () => string | undefined

class ReplyReader {
  readonly #blocks = new BlockNumbers()
  /** Parts whose content arrived in deltas; the event that closes them repeats it. */
  readonly #emitted = new Set<string>()
  /** The number of annotations of a part that arrived in events of their own. */
  readonly #annotations = new Map<string, number>()
  /** The phases of messages, by their item; models of one phase have none. */
  #phases: Map<number, string> | undefined
  #hasClosed = false
  #refused = false
  #called = false
  readonly #uses = new HostedCount()

  /** @param data of an event, in JSON */
  readFrame(frame: JsonObject | undefined, data: string, events: Array<VendorEvent>): void {
    const index = numberAt(frame, "output_index") ?? 0
    const part = numberAt(frame, "content_index") ?? numberAt(frame, "summary_index") ?? 0
    const delta = stringAt(frame, "delta") ?? ""
    switch (stringAt(frame, "type")) {
      case "response.output_text.delta":
        this.#readText(index, part, delta, events, tokensOf(objectsAt(frame, "logprobs")))
        return
      case "response.output_text.annotation.added": {
        const cited = objectAt(frame, "annotation")
        if (cited !== undefined) this.#cite(index, part, [cited], events)
        return
      }
      case "response.refusal.delta":
        this.#refused = true
        this.#readText(index, part, delta, events)
        return
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.#readReasoning(index, part, delta, events)
        return
      case "response.function_call_arguments.delta":
        this.#readInput(index, delta, toolCallArgs, events)
        return
      case "response.custom_tool_call_input.delta":
        this.#readInput(index, delta, textCallPart, events)
        return
      case "response.output_item.added": {
        const item = objectAt(frame, "item")
        const type = stringAt(item, "type")
        if (type === "function_call" || type === "custom_tool_call") this.#openCall(index, item, events)
        this.#notePhase(index, item)
        return
      }
      case "response.output_item.done":
        this.closeItem(index, objectAt(frame, "item"), events, () => new JsonSource(data).textAt(["item"]))
        return
      // Some servers send a text whole.
      case "response.output_text.done":
        if (!this.#emitted.has(`text ${index} ${part}`)) {
          this.#readText(index, part, stringAt(frame, "text") ?? "", events, tokensOf(objectsAt(frame, "logprobs")))
        }
        return
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.#closeItems(objectAt(frame, "response"), data, events)
        this.close(objectAt(frame, "response"), events)
        return
      case "error":
        events.push(faultOf(objectAt(frame, "error") ?? frame))
        return
      case undefined:
        events.push(malformed)
        return
      default: // repetitions of the above, server-side tools, and future kinds
        return
    }
  }

  /** The items of a reply whose stream closed none of them. */
  #closeItems(response: JsonObject | undefined, data: string, events: Array<VendorEvent>): void {
    if (this.#hasClosed) return
    const source = new JsonSource(data)
    for (const [index, item] of placedObjectsAt(response, "output")) {
      this.closeItem(index, item, events, () => source.textAt(["response", "output", index]))
    }
  }

  /** A closed item, or one of a whole reply: emits the rest of it. @param textOf returns the JSON of the item */
  closeItem(index: number, item: JsonObject | undefined, events: Array<VendorEvent>, textOf: TextOf): void {
    this.#hasClosed = true
    switch (stringAt(item, "type")) {
      case "message":
        this.#notePhase(index, item)
        objectsAt(item, "content").forEach((content, part) => {
          const refusal = stringAt(content, "refusal")
          if (refusal) this.#refused = true
          if (!this.#emitted.has(`text ${index} ${part}`)) {
            const logprobs = tokensOf(objectsAt(content, "logprobs"))
            this.#readText(index, part, stringAt(content, "text") ?? refusal ?? "", events, logprobs)
          }
          const annotations = objectsAt(content, "annotations")
          this.#cite(index, part, annotations.slice(this.#annotations.get(`${index} ${part}`) ?? 0), events)
        })
        return
      case "reasoning": {
        const parts = [...objectsAt(item, "summary"), ...objectsAt(item, "content")]
        if (!this.#emitted.has(`reasoning ${index}`)) {
          parts.forEach((content, part) => {
            this.#readReasoning(index, part, stringAt(content, "text") ?? "", events)
          })
        }
        const signature = reasoningSignature(stringAt(item, "id"), stringAt(item, "encrypted_content"))
        if (signature !== undefined) events.push(signatureDelta(this.#blocks.of(`reasoning ${index}`), signature))
        return
      }
      case "function_call":
        this.#openCall(index, item, events)
        if (!this.#emitted.has(`call ${index}`)) {
          this.#readInput(index, stringAt(item, "arguments") ?? "", toolCallArgs, events)
        }
        return
      case "custom_tool_call":
        this.#openCall(index, item, events)
        if (!this.#emitted.has(`call ${index}`)) {
          this.#readInput(index, stringAt(item, "input") ?? "", textCallPart, events)
        }
        return
      default:
        this.#readOwn(index, item, events, textOf)
    }
  }

  #notePhase(index: number, item: JsonObject | undefined): void {
    const phase = stringAt(item, "phase")
    if (phase === undefined || !/^[a-z_]{1,32}$/.test(phase)) return
    this.#phases ??= new Map()
    this.#phases.set(index, phase)
  }

  /** An item of OpenAI's own tools, those of later versions too. */
  #readOwn(index: number, item: JsonObject | undefined, events: Array<VendorEvent>, textOf: TextOf): void {
    // Each use is reported at once, because a reply that breaks off reports no usage.
    if (this.#uses.add(index, item)) events.push({ kind: "usage", usage: usageOf({}, this.#uses), final: false })
    if (stringAt(item, "type") !== undefined)
      events.push(vendorDelta(this.#blocks.of(`own ${index}`), "openai", textOf() ?? "{}"))
  }

  /** The end of the reply: usage and stop, or a failure. */
  close(response: JsonObject | undefined, events: Array<VendorEvent>): void {
    const status = stringAt(response, "status")
    const error = objectAt(response, "error")
    if (status === "failed" || error !== undefined) {
      events.push(faultOf(error))
      return
    }
    const tier = stringAt(response, "service_tier")
    if (tier !== undefined) events.push({ kind: "tier", tier })
    const usage = objectAt(response, "usage")
    if (usage !== undefined) events.push({ kind: "usage", usage: usageOf(usage, this.#uses), final: true })
    events.push({ kind: "stop", stop: this.#stopOf(status, response) }, { kind: "done" })
  }

  #stopOf(status: string | undefined, response: JsonObject | undefined): Stop {
    if (status === "incomplete") {
      const reason = stringAt(objectAt(response, "incomplete_details"), "reason")
      return reason === "content_filter" ? "filtered" : "max_tokens"
    }
    if (status === "cancelled") return "interrupted"
    if (this.#refused) return "refusal"
    return this.#called ? "tool_call" : "end"
  }

  #readText(
    index: number,
    part: number,
    text: string,
    events: Array<VendorEvent>,
    logprobs?: ReadonlyArray<TokenLogprob>,
  ): void {
    if (text === "") return
    const key = `text ${index} ${part}`
    const phase = this.#emitted.has(key) ? undefined : this.#phases?.get(index)
    this.#emitted.add(key)
    const said = textDelta(this.#blocks.of(key), text, logprobs)
    events.push(phase === undefined ? said : { ...said, delta: { ...said.delta, phase } })
  }

  #cite(index: number, part: number, annotations: ReadonlyArray<JsonObject>, events: Array<VendorEvent>): void {
    if (annotations.length === 0) return
    const key = `${index} ${part}`
    this.#annotations.set(key, (this.#annotations.get(key) ?? 0) + annotations.length)
    const cited = annotations.flatMap((annotation) => citationOf(annotation) ?? [])
    if (cited.length === 0) return
    events.push(citationsDelta(this.#blocks.of(`text ${index} ${part}`), cited))
  }

  /** The parts of a summary are paragraphs of one block. */
  #readReasoning(index: number, part: number, text: string, events: Array<VendorEvent>): void {
    if (text === "") return
    const key = `reasoning ${index}`
    const partKey = `${key} ${part}`
    const isNewPart = this.#emitted.has(key) && !this.#emitted.has(partKey)
    this.#emitted.add(key).add(partKey)
    events.push(reasoningDelta(this.#blocks.of(key), isNewPart ? `\n\n${text}` : text))
  }

  #openCall(index: number, item: JsonObject | undefined, events: Array<VendorEvent>): void {
    const key = `call ${index}`
    if (this.#blocks.isOpen(key)) return
    this.#called = true
    const i = this.#blocks.of(key)
    const open = stringAt(item, "type") === "custom_tool_call" ? textCallOpen : toolCallOpen
    events.push(open(i, stringAt(item, "call_id") ?? `call_${i}`, stringAt(item, "name") ?? ""))
  }

  #readInput(index: number, input: string, part: typeof toolCallArgs, events: Array<VendorEvent>): void {
    const key = `call ${index}`
    // A server-side tool's arguments are omitted.
    if (input === "" || !this.#blocks.isOpen(key)) return
    this.#emitted.add(key)
    events.push(part(this.#blocks.of(key), input))
  }
}

/** @param usage the usage that the vendor reports; empty until then */
function usageOf(usage: JsonObject, uses: HostedCount): VendorUsage {
  const input = objectAt(usage, "input_tokens_details")
  return {
    ...splitInput(
      countAt(usage, "input_tokens"),
      countAt(input, "cached_tokens"),
      countAt(input, "cache_write_tokens"),
    ),
    outTokens: countAt(usage, "output_tokens"),
    dims: nonZero({
      reasoning: countAt(objectAt(usage, "output_tokens_details"), "reasoning_tokens"),
      ...uses.counts,
    }),
    ...missingSides(usage, { input: { anyOf: ["input_tokens"] }, output: { anyOf: ["output_tokens"] } }),
  }
}

/** The type of an event is not that of its failure. */
const faultOf = (error: JsonObject | undefined): VendorEvent => ({
  kind: "fault",
  fault: openaiFault(stringAt(error, "type") === "error" ? { ...error, type: undefined } : (error ?? {})),
})
