/** OpenAI's responses as clients read them in a stream. Source: https://platform.openai.com/docs/api-reference/responses-streaming */
import type { ReplyBlock } from "../../protocol/block.ts"
import type { Citation } from "../../protocol/citation.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, ToolResultDelta } from "../../protocol/event.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import { ClientEvents, chargeOf, type EventEncoder, notesOf, type ReplyContext } from "../client/client-api.ts"
import { responsesAnnotation } from "../openai-chat/citations.ts"
import { chatError } from "../openai-chat/client-reply.ts"
import { parseObject } from "../parse/json.ts"
import { dataOf } from "../parse/sse-frames.ts"
import { openaiLogprobs } from "../vendor/logprobs.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import {
  begunResponse,
  hasWords,
  incomplete,
  itemId,
  itemOf,
  responseOf,
  textPart,
  unnamed,
  usageOf,
} from "./response-object.ts"
import { ServerCalls } from "./server-calls.ts"

/** A block that is being written. */
interface OpenItem {
  readonly index: number
  readonly id: string
  text: string
  readonly delta: Delta
  signature: string | undefined
  readonly logprobs: Array<TokenLogprob>
  readonly citations: Array<Citation>
  /** The number of its citations that have been sent. */
  told: number
}

export class ResponsesEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  /** Items in order, by their block's number in twp/1. */
  readonly #items = new Map<number, OpenItem>()
  /** The items so far, in order. */
  readonly #made: Array<() => object> = []
  readonly #calls: ServerCalls | undefined
  readonly #omitted = new Set<string>()
  #sequence = 0
  /** The usage of a reply that breaks off. */
  #usage: Usage | undefined
  /** The items that are being written: one, or several calls. */
  #open: Array<OpenItem> = []

  constructor(context: ReplyContext) {
    super()
    this.#context = context
    this.#calls =
      context.servers &&
      new ServerCalls(context.servers, {
        event: (type, data) => this.#event(type, data),
        add: (item) => this.#made.push(item) - 1,
        endOthers: () => this.#end(),
      })
  }

  open(): string {
    const response = begunResponse(this.#context)
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response })
  }

  delta(delta: Delta, json?: string): string {
    const called = delta.t === "tool_call" ? this.#calls?.take(delta) : undefined
    if (called !== undefined) return called
    const known = this.#items.get(delta.i)
    if (delta.t === "vendor" && !hasWords(delta)) {
      this.#omitted.add(typeOfBlock(delta))
      return ""
    }
    const item = known ?? this.#add(delta)
    const begin = known === undefined ? this.#begin(item) : ""
    const place = `"item_id":"${item.id}","output_index":${item.index}`
    switch (delta.t) {
      case "text": {
        item.text += delta.v
        if (delta.citations !== undefined || delta.logprobs !== undefined) return begin + this.#said(item, delta)
        // The hot path.
        return `${begin}event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${this.#sequence++},${place},"content_index":0,"delta":${json ?? JSON.stringify(delta.v)},"logprobs":[]}\n\n`
      }
      case "reasoning":
        if (delta.signature !== undefined) item.signature = delta.signature
        if (delta.v === "" || delta.redacted === true) return begin
        return begin + this.#reasoned(item, delta.v)
      case "tool_call": {
        if (delta.text !== undefined) return begin + this.#texted(item, delta.text)
        if (delta.args === undefined) return begin
        return begin + this.#argued(item, delta.args)
      }
      case "vendor":
        return begin
    }
  }

  toolResult(delta: ToolResultDelta): string {
    return this.#calls?.answer(delta) ?? ""
  }

  close({ stop, usage }: typeof CloseEvent.Type): string {
    const end = this.#end() + (this.#calls?.end() ?? "")
    const incompleteReason = incomplete[stop]
    const status = incompleteReason === undefined ? "completed" : "incomplete"
    const response = responseOf(this.#context, {
      status,
      output: this.#output(),
      usage: usageOf(usage),
      incompleteReason,
    })
    return (
      end +
      this.#event(`response.${status}`, { response, x_svc: chargeOf(usage, notesOf(unnamed(stop), this.#omitted)) })
    )
  }

  override usage(data?: Usage): string {
    this.#usage = data
    return ""
  }

  error(error: ErrorBody): string {
    const { code, message } = error
    const response = responseOf(this.#context, {
      status: "failed",
      output: this.#output(),
      usage: this.#usage === undefined ? null : usageOf(this.#usage),
      error: { code, message },
    })
    const failed = this.#event("response.failed", { response })
    return failed + this.#event("error", { code, message, param: null, ...chatError(error, 500) })
  }

  #output(): ReadonlyArray<object> {
    return this.#made.map((item) => item())
  }

  #add(delta: Delta): OpenItem {
    const index = this.#made.length
    const isText = delta.t === "tool_call" && delta.text !== undefined
    const kind = isText ? "ctc" : { text: "msg", reasoning: "rs", tool_call: "fc", vendor: "ig" }[delta.t]
    const redacted = delta.t === "reasoning" && delta.redacted === true
    const own = delta.t === "vendor" && delta.dialect === "openai" ? parseObject(delta.v)?.["id"] : undefined
    const id = typeof own === "string" ? own : itemId(this.#context, kind, index)
    const text = redacted || delta.t === "vendor" ? delta.v : ""
    const item: OpenItem = { index, id, text, delta, signature: undefined, logprobs: [], citations: [], told: 0 }
    this.#items.set(delta.i, item)
    this.#made.push(() => itemOf(this.#context, blockOf(item), index, "completed"))
    return item
  }

  /** An item ends when the next one begins. A vendor that returns to an earlier one is followed: deltas have an index. */
  #begin(item: OpenItem): string {
    // Some vendors begin all calls before they give the first one's arguments.
    const isBeside = item.delta.t === "tool_call" && this.#open.some(lacksArguments)
    const end = isBeside ? "" : this.#end()
    this.#open.push(item)
    const added = this.#event("response.output_item.added", {
      output_index: item.index,
      item: itemOf(this.#context, blockOf(item), item.index, "in_progress"),
    })
    if (item.delta.t !== "text") return end + added
    const at = { item_id: item.id, output_index: item.index, content_index: 0 }
    return end + added + this.#event("response.content_part.added", { ...at, part: textPart("") })
  }

  #texted(item: OpenItem, text: string): string {
    if (text === "") return ""
    item.text += text
    const at = { item_id: item.id, output_index: item.index }
    return this.#event("response.custom_tool_call_input.delta", { ...at, delta: text })
  }

  /** A text with its citations and logprobs. */
  #said(item: OpenItem, { v, logprobs = [], citations = [] }: Extract<Delta, { t: "text" }>): string {
    item.logprobs.push(...logprobs)
    item.citations.push(...citations)
    const at = { item_id: item.id, output_index: item.index, content_index: 0, delta: v }
    const said =
      v === "" ? "" : this.#event("response.output_text.delta", { ...at, logprobs: openaiLogprobs(logprobs) })
    return said + this.#cited(item, !this.#open.includes(item))
  }

  /**
   * The citations that have not been sent. A citation without a position means all of its text, whose length is known when
   * that has ended.
   */
  #cited(item: OpenItem, isEnded: boolean): string {
    const untold = item.citations.slice(item.told)
    const firstWhole = isEnded ? -1 : untold.findIndex(({ end }) => end === undefined)
    const at = { item_id: item.id, output_index: item.index, content_index: 0 }
    return (firstWhole < 0 ? untold : untold.slice(0, firstWhole))
      .map((citation) => {
        const annotation_index = item.told++
        const annotation = responsesAnnotation(citation, item.text.length)
        return this.#event("response.output_text.annotation.added", { ...at, annotation_index, annotation })
      })
      .join("")
  }

  #reasoned(item: OpenItem, text: string): string {
    const at = { item_id: item.id, output_index: item.index, summary_index: 0 }
    const begin =
      item.text === ""
        ? this.#event("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } })
        : ""
    item.text += text
    return begin + this.#event("response.reasoning_summary_text.delta", { ...at, delta: text })
  }

  #argued(item: OpenItem, args: string): string {
    item.text += args
    const at = { item_id: item.id, output_index: item.index }
    return this.#event("response.function_call_arguments.delta", { ...at, delta: args })
  }

  #end(): string {
    const open = this.#open
    this.#open = []
    return open.map((item) => this.#ended(item)).join("")
  }

  #ended(open: OpenItem): string {
    // Clients parse arguments, also where there are none.
    const noArguments = lacksArguments(open) ? this.#argued(open, "{}") : ""
    const cited = this.#cited(open, true)
    const item = itemOf(this.#context, blockOf(open), open.index, "completed")
    const done = this.#parted(open)
    return noArguments + cited + done + this.#event("response.output_item.done", { output_index: open.index, item })
  }

  /** The events that end the parts of an item. */
  #parted({ id, index, text, delta, logprobs, citations }: OpenItem): string {
    const at = { item_id: id, output_index: index }
    switch (delta.t) {
      case "text": {
        const place = { ...at, content_index: 0 }
        return (
          this.#event("response.output_text.done", { ...place, text, logprobs: openaiLogprobs(logprobs) }) +
          this.#event("response.content_part.done", { ...place, part: textPart(text, logprobs, citations) })
        )
      }
      case "tool_call":
        if (delta.text !== undefined) return this.#event("response.custom_tool_call_input.done", { ...at, input: text })
        return this.#event("response.function_call_arguments.done", { ...at, name: delta.name, arguments: text })
      case "reasoning": {
        if (text === "" || delta.redacted === true) return ""
        const place = { ...at, summary_index: 0 }
        return (
          this.#event("response.reasoning_summary_text.done", { ...place, text }) +
          this.#event("response.reasoning_summary_part.done", { ...place, part: { type: "summary_text", text } })
        )
      }
      case "vendor":
        return delta.dialect === "openai" ? "" : this.#event("response.image_generation_call.completed", at)
    }
  }

  #event(type: string, data: object): string {
    return `event: ${type}\ndata: ${dataOf(writeJson({ type, sequence_number: this.#sequence++, ...data }))}\n\n`
  }
}

const lacksArguments = ({ delta, text }: OpenItem): boolean =>
  delta.t === "tool_call" && delta.text === undefined && text.trim() === ""

/** The received part of an item. A call's arguments are kept unchanged. */
const blockOf = ({ delta, text, signature, logprobs, citations }: OpenItem): ReplyBlock => {
  switch (delta.t) {
    case "text":
      return { t: "text", v: text, logprobs, citations, ...(delta.phase !== undefined && { phase: delta.phase }) }
    case "vendor":
      return { t: "vendor", dialect: delta.dialect, v: text }
    case "reasoning":
      return {
        t: "reasoning",
        v: text,
        ...(signature !== undefined && { signature }),
        ...(delta.redacted === true && { redacted: true }),
      }
    case "tool_call":
      return {
        t: "tool_call",
        id: delta.id ?? "",
        name: delta.name ?? "",
        ...(delta.text === undefined ? { input: { $raw: text } } : { input: {}, text }),
      }
  }
}
