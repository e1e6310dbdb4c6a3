/**
 * Anthropic's messages as vendors send them, streamed and whole.
 * Source: https://docs.anthropic.com/en/api/messages and /en/api/messages-streaming
 */

import type { Stop } from "../../protocol/exchange.ts"
import { editJsonText, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type Decoder, malformed, type VendorEvent } from "../chat-dialect.ts"
import {
  BlockNumbers,
  citationsDelta,
  reasoningDelta,
  signatureDelta,
  textDelta,
  toolCallArgs,
  toolCallOpen,
  vendorDelta,
} from "../parse/blocks.ts"
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  placedObjectsAt,
  stringAt,
} from "../parse/json.ts"
import { makeSseDecoder } from "../parse/sse-frames.ts"
import { regionName } from "../vendor/region.ts"
import { signFor } from "../vendor/signature.ts"
import { citationOf } from "./citations.ts"
import { anthropicFault } from "./faults.ts"
import { usageOf } from "./vendor-usage.ts"

/** A streamed reply. */
export function decodeStream(carries = false): Decoder {
  const reply = new ReplyReader()
  return makeSseDecoder((data, events) => reply.readFrame(data, events), carries)
}

/** A whole reply. */
export function decodeBody(body: string): ReadonlyArray<VendorEvent> {
  const json = parseObject(body)
  if (json === undefined) return [malformed]
  if (stringAt(json, "type") === "error") return [faultOf(json)]
  if (!Array.isArray(json["content"])) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  reply.readBlocks(json, body, ["content"], events)
  reply.readUsage(objectAt(json, "usage"), true, events)
  events.push(stopOf(json), { kind: "done" })
  return events
}

/** The text of a part of a block, as it arrived. */
type TextIn = (...path: ReadonlyArray<string>) => string | undefined

/** A block of Anthropic's own tools that is being read. */
interface OwnBlock {
  /** The JSON of the block as it began. */
  readonly json: string
  /** The JSON of its input received so far. */
  input: string
  /** Members that came later. */
  readonly later: Map<string, unknown>
}

/** Reads Anthropic's events, however they are framed. */
export class ReplyReader {
  readonly #blocks = new BlockNumbers()
  #usage: JsonObject = {}
  #tier: string | undefined
  #region: string | undefined
  /** Searches, and runs of code in the vendor's containers. */
  readonly #uses = { web_search: 0, code_execution: 0 }
  /** Some vendors start again within a stream: the blocks after each start are new ones. */
  #messages = 0
  /** Blocks of Anthropic's own tools that are being read, by their index. */
  readonly #own = new Map<string, OwnBlock>()

  /** @param data of an event, in JSON */
  readFrame(data: string, events: Array<VendorEvent>, frame = parseObject(data)): void {
    switch (stringAt(frame, "type")) {
      case "message_start":
        this.#messages++
        this.readUsage(objectAt(objectAt(frame, "message"), "usage"), false, events)
        // Blocks that are whole before the stream begins.
        this.readBlocks(objectAt(frame, "message"), data, ["message", "content"], events)
        return
      case "content_block_start":
        this.openBlock(numberAt(frame, "index") ?? 0, objectAt(frame, "content_block"), events, (...path) =>
          new JsonSource(data).textAt(["content_block", ...path]),
        )
        return
      case "content_block_delta":
        this.#readDelta(numberAt(frame, "index") ?? 0, objectAt(frame, "delta"), events)
        return
      case "content_block_stop":
        this.closeBlock(numberAt(frame, "index") ?? 0, events)
        return
      case "message_delta": {
        this.readUsage(objectAt(frame, "usage"), true, events)
        const delta = objectAt(frame, "delta")
        if (stringAt(delta, "stop_reason") !== undefined) events.push(stopOf(delta))
        return
      }
      case "message_stop":
        for (const key of this.#own.keys()) this.#close(key, events)
        events.push({ kind: "done" })
        return
      case "error":
        events.push(faultOf(frame))
        return
      case undefined:
        events.push(malformed)
        return
      default: // ping, and future kinds
        return
    }
  }

  /**
   * Whole blocks.
   * @param place the position of the list in the text
   */
  readBlocks(message: JsonObject | undefined, text: string, place: JsonPath, events: Array<VendorEvent>): void {
    const blocks = placedObjectsAt(message, "content")
    if (blocks.length === 0) return
    const source = new JsonSource(text)
    for (const [index, block] of blocks) {
      this.openBlock(index, block, events, (...path) => source.textAt([...place, index, ...path]))
      this.closeBlock(index, events)
    }
  }

  #keyOf(index: number): string {
    return this.#messages < 2 ? String(index) : `${this.#messages} ${index}`
  }

  /** A block of a whole reply, or the empty block with which a stream starts one; its content follows in deltas. */
  openBlock(index: number, block: JsonObject | undefined, events: Array<VendorEvent>, textIn: TextIn): void {
    const key = this.#keyOf(index)
    switch (stringAt(block, "type")) {
      case "text": {
        const text = stringAt(block, "text")
        if (text) events.push(textDelta(this.#blocks.of(key), text))
        const cited = objectsAt(block, "citations").map(citationOf)
        if (cited.length > 0) events.push(citationsDelta(this.#blocks.of(key), cited))
        return
      }
      case "thinking": {
        const thinking = stringAt(block, "thinking")
        if (thinking) events.push(reasoningDelta(this.#blocks.of(key), thinking))
        this.#readSignature(key, stringAt(block, "signature"), events)
        return
      }
      case "redacted_thinking":
        events.push({
          kind: "delta",
          delta: { i: this.#blocks.of(key), t: "reasoning", v: stringAt(block, "data") ?? "", redacted: true },
        })
        return
      case "tool_use": {
        const i = this.#blocks.of(key)
        events.push(toolCallOpen(i, stringAt(block, "id") ?? `call_${i}`, stringAt(block, "name") ?? ""))
        const input = objectAt(block, "input")
        if (input !== undefined && Object.keys(input).length > 0) events.push(toolCallArgs(i, textIn("input") ?? "{}"))
        return
      }
      default:
        this.#countUse(block, events)
        // All other blocks belong to Anthropic's own tools, including those of later versions.
        if (stringAt(block, "type") !== undefined)
          this.#own.set(key, { json: textIn() ?? "{}", input: "", later: new Map() })
    }
  }

  /** Each use is reported at once, because a reply that breaks off reports none. */
  #countUse(block: JsonObject | undefined, events: Array<VendorEvent>): void {
    if (stringAt(block, "type") !== "server_tool_use") return
    const name = stringAt(block, "name") ?? ""
    const unit = codeRuns.has(name) ? "code_execution" : name === "web_search" ? name : undefined
    if (unit === undefined) return
    this.#uses[unit]++
    events.push({ kind: "usage", usage: usageOf(this.#usage, this.#uses), final: false })
  }

  /** The end of a block. One of Anthropic's own tools is whole now. */
  closeBlock(index: number, events: Array<VendorEvent>): void {
    this.#close(this.#keyOf(index), events)
  }

  #close(key: string, events: Array<VendorEvent>): void {
    const own = this.#own.get(key)
    if (own === undefined) return
    this.#own.delete(key)
    const edits = [...own.later].map(([name, value]) => set(value, name))
    if (parseObject(own.input) !== undefined) edits.push({ path: ["input"], json: own.input })
    events.push(vendorDelta(this.#blocks.of(key), "anthropic", editJsonText(own.json, edits)))
  }

  #readDelta(index: number, delta: JsonObject | undefined, events: Array<VendorEvent>): void {
    const key = this.#keyOf(index)
    switch (stringAt(delta, "type")) {
      case "text_delta": {
        const text = stringAt(delta, "text")
        if (text) events.push(textDelta(this.#blocks.of(key), text))
        return
      }
      case "thinking_delta": {
        const thinking = stringAt(delta, "thinking")
        if (thinking) events.push(reasoningDelta(this.#blocks.of(key), thinking))
        return
      }
      case "citations_delta": {
        const cited = objectAt(delta, "citation")
        if (cited !== undefined) events.push(citationsDelta(this.#blocks.of(key), [citationOf(cited)]))
        return
      }
      case "signature_delta":
        this.#readSignature(key, stringAt(delta, "signature"), events)
        return
      case "input_json_delta": {
        const args = stringAt(delta, "partial_json")
        const own = this.#own.get(key)
        if (own !== undefined) own.input += args ?? ""
        if (args && this.#blocks.isOpen(key)) events.push(toolCallArgs(this.#blocks.of(key), args))
        return
      }
      case "compaction_delta": {
        const own = this.#own.get(key)
        if (own === undefined || delta === undefined) return
        for (const [name, value] of Object.entries(delta)) if (name !== "type") own.later.set(name, value)
        return
      }
      default:
        return
    }
  }

  #readSignature(key: string, signature: string | undefined, events: Array<VendorEvent>): void {
    if (!signature) return
    events.push(signatureDelta(this.#blocks.of(key), signFor("anthropic", signature)))
  }

  /** Counts are cumulative, and a later report may omit some: reported counts replace, omitted ones stay. */
  readUsage(report: JsonObject | undefined, final: boolean, events: Array<VendorEvent>): void {
    if (report === undefined) return
    const reported = Object.entries(report).filter(([, value]) => value !== null)
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) }
    events.push({ kind: "usage", usage: usageOf(this.#usage, this.#uses), final })
    const tier = stringAt(this.#usage, "service_tier")
    if (tier !== undefined && tier !== this.#tier) events.push({ kind: "tier", tier })
    this.#tier = tier
    const region = regionName(this.#usage["inference_geo"])
    if (region !== undefined && region !== this.#region) events.push({ kind: "region", region })
    this.#region = region
  }
}

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool */
const codeRuns: ReadonlySet<string> = new Set(["code_execution", "bash_code_execution", "text_editor_code_execution"])

const stops: Readonly<Record<string, Stop>> = {
  end_turn: "end",
  max_tokens: "max_tokens",
  model_context_window_exceeded: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_use: "tool_call",
  refusal: "refusal",
  pause_turn: "pause",
  // The block follows a compaction that the client wanted to see.
  compaction: "pause",
}

const stopOf = (end: JsonObject | undefined): VendorEvent => ({
  kind: "stop",
  stop: entryOf(stops, stringAt(end, "stop_reason")) ?? "end",
  sequence: stringAt(end, "stop_sequence"),
})

const faultOf = (json: JsonObject | undefined): VendorEvent => ({ kind: "fault", fault: anthropicFault(json) })
