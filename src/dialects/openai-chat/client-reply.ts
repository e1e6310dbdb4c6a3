/**
 * OpenAI's chat completions as clients read them, streamed and whole. Source:
 * https://platform.openai.com/docs/api-reference/chat/object and /streaming
 */
import type { ToolCallBlock, VendorBlock } from "../../protocol/block.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Reply, Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import type { Usage } from "../../protocol/usage.ts"
import {
  ClientEvents,
  chargeOf,
  type EventEncoder,
  notesOf,
  omittedOf,
  type ReplyContext,
  type ReplyNotes,
  replyId,
  toldIn,
  unnamedStop,
} from "../client/client-api.ts"
import { argumentsText } from "../parse/exact-json.ts"
import { JoinedText, type PlacedCitation } from "../parse/joined-text.ts"
import { openaiLogprobs } from "../vendor/logprobs.ts"
import { chatPicture, pictureIn } from "../vendor/reply-pictures.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import { chatAnnotation } from "./citations.ts"

export const finishReasons: Readonly<Record<Stop, string>> = {
  end: "stop",
  stop_sequence: "stop",
  interrupted: "stop",
  max_tokens: "length",
  tool_call: "tool_calls",
  filtered: "content_filter",
  refusal: "content_filter",
  pause: "stop",
  malformed_call: "stop",
}

const unnamed = (stop: Stop) => unnamedStop(stop, "pause", "malformed_call")

export const chatUsage = (usage: Usage) => {
  const { inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims = {} } = usage
  const prompt = inTokens + cacheReadTokens + cacheWriteTokens
  return {
    prompt_tokens: prompt,
    completion_tokens: outTokens,
    total_tokens: prompt + outTokens,
    prompt_tokens_details: {
      cached_tokens: cacheReadTokens,
      audio_tokens: dims["audio_in"] ?? 0,
      ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }),
    },
    completion_tokens_details: {
      reasoning_tokens: dims["reasoning"] ?? 0,
      audio_tokens: dims["audio_out"] ?? 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

export const completionId = (context: ReplyContext): string => `chatcmpl-${replyId(context)}`

export class ChatEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  /** The beginning of all chunks, made with the first: a whole reply has none. */
  #begin: string | undefined
  readonly #texts: Array<JoinedText> = []
  /** The number of pictures of each reply. */
  readonly #pictures: Array<number> = []
  readonly #omitted = new Set<string>()
  /** Each reply's tool calls, by their block. */
  readonly #calls: Array<Map<number, OpenCall>> = []

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return this.#chunk(opening)
  }

  /** The hot path: text deltas are by far the most frequent events and are concatenated by hand. */
  delta(delta: Delta, json?: string): string {
    const { reply = 0 } = delta
    const opened = reply === 0 || this.#calls[reply] !== undefined ? "" : this.#chunk(opening, { reply })
    if (reply > 0) this.#calls[reply] ??= new Map()
    const begin = opened + this.#annotated(this.#citedBy(delta), reply)
    switch (delta.t) {
      case "text": {
        if (delta.citations !== undefined && delta.v === "") return begin
        const content = `{"content":${json ?? JSON.stringify(delta.v)}}`
        if (reply === 0 && delta.logprobs === undefined) return begin + this.#chunk(content)
        if (delta.logprobs === undefined) return begin + this.#chunk(content, { reply })
        return begin + this.#chunk(content, { reply, logprobs: chatLogprobs(delta.logprobs) })
      }
      case "reasoning":
        return delta.v === "" || delta.redacted === true
          ? begin
          : begin + this.#chunk(`{"reasoning_content":${JSON.stringify(delta.v)}}`, { reply })
      case "tool_call":
        return begin + this.#chunk(JSON.stringify({ tool_calls: [this.#call(delta, reply)] }), { reply })
      case "vendor":
        return begin + this.#drawn(delta, reply)
    }
  }

  close({ stop, stops = [stop], usage }: typeof CloseEvent.Type): string {
    const notes = notesOf(unnamed(stop), this.#omitted)
    const charge = `"x_svc":${JSON.stringify(chargeOf(usage, notes))}`
    const ends = stops.map((each, reply) => {
      const isLast = reply === stops.length - 1
      const more = isLast && !this.#context.includesUsage ? `,${charge}` : ""
      const cited = this.#annotated(this.#textOf(reply).end(), reply)
      return (
        cited +
        this.#noArguments(reply) +
        this.#chunk("{}", { reply, finish: JSON.stringify(finishReasons[each]), more })
      )
    })
    if (!this.#context.includesUsage) return `${ends.join("")}data: [DONE]\n\n`
    return `${ends.join("")}${usageChunk(this.#context, usage, notes)}data: [DONE]\n\n`
  }

  error(error: ErrorBody): string {
    return `data: ${JSON.stringify(chatError(error, 500))}\n\n`
  }

  #head(): string {
    if (this.#begin !== undefined) return this.#begin
    const { model, createdS: created } = this.#context
    const head = JSON.stringify({ id: completionId(this.#context), object: "chat.completion.chunk", created, model })
    this.#begin = `data: ${head.slice(0, -1)},`
    return this.#begin
  }

  #chunk(delta: string, { reply = 0, finish = "null", logprobs = "null", more = "" }: Chunk = noMore): string {
    return `${this.#head()}"choices":[{"index":${reply},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}]${more}}\n\n`
  }

  /** The citations whose positions are known with a delta. */
  #citedBy(delta: Delta): ReadonlyArray<PlacedCitation> {
    const text = this.#textOf(delta.reply ?? 0)
    if (delta.t !== "text") return text.end()
    if (delta.citations === undefined) return text.add(delta.i, delta.v)
    const ended = delta.v === "" ? [] : text.add(delta.i, delta.v)
    return [...ended, ...text.cite(delta.i, delta.citations)]
  }

  #annotated(citations: ReadonlyArray<PlacedCitation>, reply: number): string {
    if (citations.length === 0) return ""
    return this.#chunk(JSON.stringify({ content: "", annotations: citations.map(chatAnnotation) }), { reply })
  }

  /** A picture; other blocks of vendors' tools have no form here. */
  #drawn(delta: Extract<Delta, { t: "vendor" }>, reply: number): string {
    const picture = pictureIn(delta)
    if (picture === undefined) {
      this.#omitted.add(typeOfBlock(delta))
      return ""
    }
    const index = this.#pictures[reply] ?? 0
    this.#pictures[reply] = index + 1
    return this.#chunk(JSON.stringify({ images: [chatPicture(picture, index)] }), { reply })
  }

  #textOf(reply: number): JoinedText {
    this.#texts[reply] ??= new JoinedText()
    return this.#texts[reply]
  }

  #call({ i, id, name, args, text }: Extract<Delta, { t: "tool_call" }>, reply: number) {
    this.#calls[reply] ??= new Map()
    const calls = this.#calls[reply]
    const call = calls.get(i) ?? { index: calls.size, hasArguments: false }
    calls.set(i, call)
    if (args !== undefined && args.trim() !== "") call.hasArguments = true
    const { index } = call
    if (text !== undefined) {
      call.hasArguments = true
      const custom = { ...(name !== undefined && { name }), input: text }
      return id === undefined ? { index, custom } : { index, id, type: "custom", custom }
    }
    if (id === undefined) return { index, function: { arguments: args ?? "" } }
    return { index, id, type: "function", function: { name: name ?? "", arguments: args ?? "" } }
  }

  /** Clients parse arguments, also where there are none. */
  #noArguments(reply: number): string {
    const calls = [...(this.#calls[reply]?.values() ?? [])].filter(({ hasArguments }) => !hasArguments)
    if (calls.length === 0) return ""
    const tool_calls = calls.map(({ index }) => ({ index, function: { arguments: "{}" } }))
    return this.#chunk(JSON.stringify({ tool_calls }), { reply })
  }
}

/** A tool call that is being written. */
interface OpenCall {
  readonly index: number
  hasArguments: boolean
}

/** A chunk that has only the usage. */
export const usageChunk = (context: ReplyContext, usage: Usage, notes?: ReplyNotes): string => {
  const { model, createdS: created } = context
  const head = { id: completionId(context), object: "chat.completion.chunk", created, model, choices: [] }
  return `data: ${JSON.stringify({ ...head, usage: chatUsage(usage), x_svc: chargeOf(usage, notes) })}\n\n`
}

const opening = `{"role":"assistant","content":"","refusal":null}`

/** The fields of a chunk beside its delta. */
interface Chunk {
  readonly reply?: number
  readonly finish?: string
  readonly logprobs?: string
  readonly more?: string
}
const noMore: Chunk = {}

const chatLogprobs = (tokens: ReadonlyArray<TokenLogprob>): string =>
  JSON.stringify({ content: openaiLogprobs(tokens), refusal: null })

export const chatCompletion = (context: ReplyContext, response: ExchangeResponse) => ({
  id: completionId(context),
  object: "chat.completion",
  created: context.createdS,
  model: context.model,
  choices: (response.replies ?? [response]).map(choiceOf),
  usage: chatUsage(response.usage),
  ...toldIn(notesOf(unnamed(response.stop), omittedOf(response, isDrawn))),
})

const isDrawn = (block: VendorBlock): boolean => pictureIn(block) !== undefined

const callOf = (call: ToolCallBlock): object =>
  call.text === undefined
    ? { id: call.id, type: "function", function: { name: call.name, arguments: argumentsText(call) } }
    : { id: call.id, type: "custom", custom: { name: call.name, input: call.text } }

const choiceOf = ({ blocks, stop }: Reply, index: number) => {
  const joined = new JoinedText()
  const citations = blocks.flatMap((block, i) =>
    block.t === "text" ? [...joined.add(i, block.v), ...joined.cite(i, block.citations ?? [])] : [],
  )
  const annotations = [...citations, ...joined.end()].map(chatAnnotation)
  const text = blocks.map((block) => (block.t === "text" ? block.v : "")).join("")
  const reasoning = blocks.map((block) => (block.t === "reasoning" && block.redacted !== true ? block.v : "")).join("")
  const logprobs = blocks.flatMap((block) => (block.t === "text" ? (block.logprobs ?? []) : []))
  const calls = blocks.flatMap((block) => (block.t === "tool_call" ? [callOf(block)] : []))
  const pictures = blocks.flatMap((block) => (block.t === "vendor" ? (pictureIn(block) ?? []) : []))
  return {
    index,
    message: {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning !== "" && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(annotations.length > 0 && { annotations }),
      ...(pictures.length > 0 && { images: pictures.map(chatPicture) }),
    },
    logprobs: logprobs.length === 0 ? null : { content: openaiLogprobs(logprobs), refusal: null },
    finish_reason: finishReasons[stop],
  }
}

/** https://platform.openai.com/docs/guides/error-codes */
export const chatError = ({ code, message, detail }: ErrorBody, status: number, path?: string) => ({
  error: {
    message,
    type: errorType(status),
    param: path ?? null,
    code: ownCode(detail?.["reason"]) ?? code,
    ...(detail !== undefined && { detail }),
  },
})

/** A code of OpenAI that clients look for. */
const ownCode = (reason: unknown): string | undefined => (reason === "previous_response_not_found" ? reason : undefined)

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  429: "rate_limit_error",
}

const errorType = (status: number): string =>
  errorTypes[status] ?? (status >= 500 ? "server_error" : "invalid_request_error")
