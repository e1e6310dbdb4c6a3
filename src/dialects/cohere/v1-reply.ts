/**
 * Cohere's replies as clients read them by its API v1, whole and as lines of JSON. Sources: https://docs.cohere.com/v1/reference/chat,
 * https://docs.cohere.com/v1/docs/streaming
 */
import type { ToolCallBlock } from "../../protocol/block.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import {
  ClientEvents,
  chargeOf,
  type EventEncoder,
  notesOf,
  omittedOf,
  type ReplyContext,
  toldIn,
} from "../client/client-api.ts"
import { inputOf, objectOfArguments } from "../parse/exact-json.ts"
import { JoinedText, type PlacedCitation } from "../parse/joined-text.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import { citationOf, finishReasons, placedIn, unnamed, usageOf } from "./client-reply.ts"

/** A reply with calls is complete here. */
const finishReason = (stop: Stop): string => (stop === "tool_call" ? "COMPLETE" : (finishReasons[stop] ?? "COMPLETE"))

/** The parts of a reply, as far as they are known. */
interface Said {
  readonly text: string
  readonly calls: ReadonlyArray<object>
  readonly citations: ReadonlyArray<object>
}

const historyIn = ({ echo }: ReplyContext): ReadonlyArray<unknown> => {
  const history = echo?.["history"]
  return Array.isArray(history) ? history : []
}

const responseOf = (context: ReplyContext, { text, calls, citations }: Said, reason: string, usage?: Usage) => {
  const called = calls.length > 0 && { tool_calls: calls }
  return {
    response_id: context.requestId,
    generation_id: context.requestId,
    text,
    chat_history: [...historyIn(context), { role: "CHATBOT", message: text, ...called }],
    finish_reason: reason,
    ...called,
    ...(citations.length > 0 && { citations }),
    meta: { api_version: { version: "1" }, ...(usage !== undefined && usageOf(usage)) },
  }
}

const citedIn = (citation: PlacedCitation, text: string) => {
  const { start, end, text: words, sources } = citationOf(citation, text)
  return { start, end, text: words, document_ids: sources.map(({ id }) => id) }
}

export class CohereLines extends ClientEvents implements EventEncoder {
  readonly contentType = "application/stream+json"
  /** Clients skip empty lines. */
  override readonly heartbeat = "\n"
  readonly #context: ReplyContext
  readonly #joined = new JoinedText()
  readonly #calls = new Map<number, { readonly name: string; readonly index: number; text: string }>()
  readonly #citations: Array<object> = []
  readonly #omitted = new Set<string>()
  #text = ""

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return line("stream-start", { generation_id: this.#context.requestId })
  }

  delta(delta: Delta): string {
    switch (delta.t) {
      case "vendor":
        this.#omitted.add(typeOfBlock(delta))
        return ""
      case "reasoning":
        this.#omitted.add("reasoning")
        return ""
      case "tool_call":
        return this.#called(delta)
      case "text": {
        const { i, v, citations } = delta
        this.#text += v
        const said = v === "" ? "" : line("text-generation", { text: v })
        const ended = v === "" ? [] : this.#joined.add(i, v)
        return said + this.#cited([...ended, ...(citations === undefined ? [] : this.#joined.cite(i, citations))])
      }
    }
  }

  close({ stop, usage }: typeof CloseEvent.Type): string {
    const cited = this.#cited(this.#joined.end())
    const calls = this.#made()
    const called = calls.length === 0 ? "" : line("tool-calls-generation", { text: this.#text, tool_calls: calls })
    const x_svc = chargeOf(usage, notesOf(unnamed(stop), this.#omitted))
    return cited + called + this.#last(finishReason(stop), { x_svc }, usage)
  }

  error({ message, code }: ErrorBody): string {
    return this.#last(code.endsWith("_timeout") ? "TIMEOUT" : "ERROR", { error: message })
  }

  #last(reason: string, more: object, usage?: Usage): string {
    const said = { text: this.#text, calls: this.#made(), citations: this.#citations }
    const response = responseOf(this.#context, said, reason, usage)
    return line("stream-end", { finish_reason: reason, response, ...more }, true)
  }

  #made(): ReadonlyArray<object> {
    return [...this.#calls.values()].map(({ name, text }) => ({ name, parameters: objectOfArguments(text) }))
  }

  #called({ i, name = "", args = "" }: Extract<Delta, { t: "tool_call" }>): string {
    const known = this.#calls.get(i)
    const call = known ?? { name, index: this.#calls.size, text: "" }
    this.#calls.set(i, call)
    call.text += args
    const { index } = call
    const chunk = (delta: object) => line("tool-calls-chunk", { tool_call_delta: { index, ...delta } })
    return (known === undefined ? chunk({ name }) : "") + (args === "" ? "" : chunk({ parameters: args }))
  }

  #cited(placed: ReadonlyArray<PlacedCitation>): string {
    if (placed.length === 0) return ""
    const citations = placed.map((citation) => citedIn(citation, this.#text))
    this.#citations.push(...citations)
    return line("citation-generation", { citations })
  }
}

const line = (type: string, data: object, isLast = false): string =>
  `${writeJson({ is_finished: isLast, event_type: type, ...data })}\n`

export const wholeCohereV1 = (context: ReplyContext, reply: ExchangeResponse) => {
  let text = ""
  const citations: Array<object> = []
  for (const block of reply.blocks) {
    if (block.t !== "text") continue
    const begin = text.length
    text += block.v
    for (const citation of placedIn(block)) {
      const { start, end } = citation
      citations.push(citedIn({ ...citation, start: begin + start, end: begin + end }, text))
    }
  }
  const calls = reply.blocks.filter((block): block is ToolCallBlock => block.t === "tool_call")
  const said = { text, calls: calls.map((call) => ({ name: call.name, parameters: inputOf(call) })), citations }
  const omitted = [
    ...omittedOf(reply, () => false),
    ...(reply.blocks.some(({ t }) => t === "reasoning") ? ["reasoning"] : []),
  ]
  return {
    ...responseOf(context, said, finishReason(reply.stop), reply.usage),
    ...toldIn(notesOf(unnamed(reply.stop), omitted)),
  }
}
