/**
 * Cohere's replies as clients read them by its API v2, streamed and whole. Sources: https://docs.cohere.com/reference/chat,
 * https://docs.cohere.com/v2/docs/streaming
 */
import type { TextBlock, ToolCallBlock } from "../../protocol/block.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
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
  unnamedStop,
} from "../client/client-api.ts"
import { argumentsText } from "../parse/exact-json.ts"
import { JoinedText, type PlacedCitation } from "../parse/joined-text.ts"
import { dataOf } from "../parse/sse-frames.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"

/** The reasons of both versions of the API. */
export const finishReasons: Readonly<Record<Stop, string>> = {
  end: "COMPLETE",
  interrupted: "COMPLETE",
  pause: "COMPLETE",
  malformed_call: "COMPLETE",
  max_tokens: "MAX_TOKENS",
  stop_sequence: "STOP_SEQUENCE",
  tool_call: "TOOL_CALL",
  filtered: "ERROR_TOXIC",
  refusal: "ERROR_TOXIC",
}

export const unnamed = (stop: Stop) => unnamedStop(stop, "interrupted", "pause", "malformed_call", "refusal")

/** A prompt is billed with its cached part. */
export const usageOf = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens }: Usage) => {
  const tokens = { input_tokens: inTokens + cacheReadTokens + cacheWriteTokens, output_tokens: outTokens }
  return { billed_units: tokens, tokens, cached_tokens: cacheReadTokens }
}

/** Whether reasoning is the plan for the request's tools: the client offers some, and asked for no thinking. */
const isPlan = ({ echo }: ReplyContext): boolean => echo?.["plans"] === true

const logprobsOf = (tokens: ReadonlyArray<TokenLogprob>) => ({
  text: tokens.map(({ token }) => token).join(""),
  token_ids: [],
  logprobs: tokens.map(({ logprob }) => logprob),
})

/** @param text of the content that it is about, as far as it was said */
export const citationOf = ({ start, end, url, title, text: said, source }: PlacedCitation, text: string) => {
  const id = source ?? url ?? title ?? ""
  const document = { id, title: title ?? id, text: said ?? "", ...(url !== undefined && { url }) }
  return { start, end, text: text.slice(start, end), sources: [{ type: "document", id, document }] }
}

const contentCitation = (citation: PlacedCitation, text: string, index: number) => ({
  ...citationOf(citation, text),
  content_index: index,
  type: "TEXT_CONTENT",
})

const event = (type: string, data: object): string =>
  `event: ${type}\ndata: ${dataOf(writeJson({ type, ...data }))}\n\n`

/** A content or a call that has begun. */
interface Part {
  readonly kind: "content" | "call" | "plan"
  readonly index: number
  readonly joined: JoinedText
  text: string
}

export class CohereEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  readonly #parts = new Map<number, Part>()
  #open: Part | undefined
  #contents = 0
  #calls = 0
  readonly #omitted = new Set<string>()

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    const message = { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] }
    return event("message-start", { id: this.#context.requestId, delta: { message } })
  }

  delta(delta: Delta): string {
    switch (delta.t) {
      case "vendor":
        this.#omitted.add(typeOfBlock(delta))
        return ""
      case "reasoning":
        return delta.v === "" || delta.redacted === true ? "" : this.#thought(delta.i, delta.v)
      case "tool_call":
        return this.#call(delta)
      case "text":
        return this.#text(delta)
    }
  }

  close({ stop, usage }: typeof CloseEvent.Type): string {
    const x_svc = chargeOf(usage, notesOf(unnamed(stop), this.#omitted))
    const end = { finish_reason: finishReasons[stop], usage: usageOf(usage) }
    return `${this.#end()}${event("message-end", { delta: end, x_svc })}`
  }

  error({ message, code, requestId }: ErrorBody): string {
    const reason = code.endsWith("_timeout") ? "TIMEOUT" : "ERROR"
    return event("message-end", { id: requestId, delta: { error: message, finish_reason: reason } })
  }

  #text({ i, v, citations, logprobs }: Extract<Delta, { t: "text" }>): string {
    if (v === "" && citations === undefined) return ""
    const [begin, part] = this.#begin(i, "content", { type: "text", text: "" })
    part.text += v
    const { index } = part
    const content = { text: v }
    const more = logprobs === undefined ? {} : { logprobs: logprobsOf(logprobs) }
    const said = v === "" ? "" : event("content-delta", { index, delta: { message: { content } }, ...more })
    if (v !== "") part.joined.add(i, v)
    const placed = citations === undefined ? [] : part.joined.cite(i, citations)
    return begin + said + cited(part, placed)
  }

  #thought(i: number, v: string): string {
    if (isPlan(this.#context)) {
      const [begin] = this.#begin(i, "plan")
      return begin + event("tool-plan-delta", { delta: { message: { tool_plan: v } } })
    }
    const [begin, { index }] = this.#begin(i, "content", { type: "thinking", thinking: "" })
    return begin + event("content-delta", { index, delta: { message: { content: { thinking: v } } } })
  }

  #call({ i, id = "", name = "", args }: Extract<Delta, { t: "tool_call" }>): string {
    const called = { id, type: "function", function: { name, arguments: "" } }
    const [begin, part] = this.#begin(i, "call", called)
    if (args === undefined || args === "") return begin
    part.text += args
    return begin + argumentsEvent(part, args)
  }

  /** @param start the content or the call, without its text */
  #begin(i: number, kind: Part["kind"], start: object = {}): readonly [events: string, part: Part] {
    const known = this.#parts.get(i)
    if (known !== undefined) return ["", known]
    const end = this.#end()
    const index = kind === "content" ? this.#contents++ : kind === "call" ? this.#calls++ : 0
    const part: Part = { kind, index, joined: new JoinedText(), text: "" }
    this.#parts.set(i, part)
    this.#open = part
    if (kind === "plan") return [end, part]
    const message = kind === "content" ? { content: start } : { tool_calls: start }
    return [end + event(kind === "content" ? "content-start" : "tool-call-start", { index, delta: { message } }), part]
  }

  #end(): string {
    const part = this.#open
    this.#open = undefined
    if (part === undefined || part.kind === "plan") return ""
    const { index } = part
    if (part.kind === "content") return cited(part, part.joined.end()) + event("content-end", { index })
    // Clients parse arguments, also where there are none.
    return (part.text.trim() === "" ? argumentsEvent(part, "{}") : "") + event("tool-call-end", { index })
  }
}

const argumentsEvent = ({ index }: Part, args: string): string =>
  event("tool-call-delta", { index, delta: { message: { tool_calls: { function: { arguments: args } } } } })

const cited = ({ index, text }: Part, citations: ReadonlyArray<PlacedCitation>): string =>
  citations
    .map((citation) => {
      const message = { citations: contentCitation(citation, text, index) }
      return event("citation-start", { index, delta: { message } }) + event("citation-end", { index })
    })
    .join("")

export const wholeCohere = (context: ReplyContext, reply: ExchangeResponse) => {
  const texts: Array<TextBlock> = []
  const content: Array<object> = []
  const citations: Array<object> = []
  const calls: Array<ToolCallBlock> = []
  let plan = ""
  const plans = isPlan(context) && reply.blocks.some(({ t }) => t === "tool_call")
  for (const block of reply.blocks) {
    if (block.t === "tool_call") calls.push(block)
    else if (block.t === "reasoning" && block.redacted !== true && block.v !== "") {
      if (plans) plan += block.v
      else content.push({ type: "thinking", thinking: block.v })
    } else if (block.t === "text" && block.v !== "") {
      citations.push(...placedIn(block).map((citation) => contentCitation(citation, block.v, content.length)))
      content.push({ type: "text", text: block.v })
      texts.push(block)
    }
  }
  const logprobs = texts.flatMap((block) => (block.logprobs === undefined ? [] : [logprobsOf(block.logprobs)]))
  return {
    id: reply.requestId,
    finish_reason: finishReasons[reply.stop],
    message: {
      role: "assistant",
      ...(content.length > 0 && { content }),
      ...(plan !== "" && { tool_plan: plan }),
      ...(calls.length > 0 && { tool_calls: calls.map(calledOf) }),
      ...(citations.length > 0 && { citations }),
    },
    usage: usageOf(reply.usage),
    ...(logprobs.length > 0 && { logprobs }),
    ...toldIn(
      notesOf(
        unnamed(reply.stop),
        omittedOf(reply, () => false),
      ),
    ),
  }
}

const calledOf = (call: ToolCallBlock) => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: argumentsText(call) },
})

/** The citations of a text; those without a position mean all of it. */
export const placedIn = ({ v, citations = [] }: TextBlock): ReadonlyArray<PlacedCitation> =>
  citations.map((citation) => ({ ...citation, start: citation.start ?? 0, end: citation.end ?? v.length }))
