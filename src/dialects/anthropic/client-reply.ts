/**
 * Anthropic's messages as clients read them, streamed and whole. Source: https://docs.anthropic.com/en/api/messages,
 * /en/api/messages-streaming and /en/api/errors
 */
import type { AnswerBlock, VendorBlock } from "../../protocol/block.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, ToolResultDelta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
import { JsonText, writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import { BlockIndexes } from "../client/block-indexes.ts"
import {
  ClientEvents,
  chargeOf,
  type EventEncoder,
  notesOf,
  omittedOf,
  type ReplyContext,
  replyId,
  toldIn,
  unnamedStop,
} from "../client/client-api.ts"
import { inputOf } from "../parse/exact-json.ts"
import { isObject, parseObject } from "../parse/json.ts"
import { dataOf } from "../parse/sse-frames.ts"
import { toolOfServer } from "../vendor/server-tools.ts"
import { ownBlock, typeOfBlock } from "../vendor/vendor-blocks.ts"
import { foreignCitation } from "./citations.ts"

const stopReasons: Readonly<Record<Stop, string>> = {
  end: "end_turn",
  interrupted: "end_turn",
  pause: "pause_turn",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_call: "tool_use",
  filtered: "refusal",
  refusal: "refusal",
  malformed_call: "end_turn",
}

const unnamed = (stop: Stop) => unnamedStop(stop, "malformed_call")

export const messageId = (context: ReplyContext): string => `msg_${replyId(context)}`

const usageOf = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims = {} }: Usage) => ({
  input_tokens: inTokens,
  cache_creation_input_tokens: cacheWriteTokens,
  cache_read_input_tokens: cacheReadTokens,
  output_tokens: outTokens,
  ...(dims["web_search"] !== undefined && { server_tool_use: { web_search_requests: dims["web_search"] } }),
})

/** Counts are known at the end of a stream only. */
const noUsage = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }

export class MessagesEvents extends ClientEvents implements EventEncoder {
  override readonly heartbeat = frame("ping", {})
  readonly #context: ReplyContext
  readonly #indexes = new BlockIndexes()
  readonly #omitted = new Set<string>()

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return frame("message_start", {
      message: {
        id: messageId(this.#context),
        type: "message",
        role: "assistant",
        model: this.#context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: noUsage,
      },
    })
  }

  /** The hot path: text deltas are by far the most frequent events and are concatenated by hand. */
  delta(delta: Delta, json?: string): string {
    const known = this.#indexes.of(delta.i)
    if (delta.t === "vendor" && !hasWords(delta)) {
      this.#omitted.add(typeOfBlock(delta))
      return ""
    }
    const begin = known === undefined ? this.#begin(delta) : ""
    const index = known ?? this.#indexes.open
    if (delta.t === "text" && delta.citations === undefined) {
      return `${begin}event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":${json ?? JSON.stringify(delta.v)}}}\n\n`
    }
    return (
      begin +
      partsOf(delta)
        .map((part) => frame("content_block_delta", { index, delta: part }))
        .join("")
    )
  }

  close({ stop, stopSequence, usage }: typeof CloseEvent.Type): string {
    const delta = { stop_reason: stopReasons[stop], stop_sequence: stopSequence ?? null }
    const x_svc = chargeOf(usage, notesOf(unnamed(stop), this.#omitted))
    const last = frame("message_delta", { delta, usage: usageOf(usage), x_svc })
    return `${this.#end()}${last}${frame("message_stop", {})}`
  }

  error(error: ErrorBody): string {
    return frame("error", messagesError(error, 500))
  }

  #begin(delta: Delta): string {
    const end = this.#end()
    const index = this.#indexes.begin(delta.i)
    return end + frame("content_block_start", { index, content_block: emptyBlock(this.#context, delta) })
  }

  toolResult(delta: ToolResultDelta): string {
    const end = this.#end()
    const index = this.#indexes.begin(delta.i)
    return end + frame("content_block_start", { index, content_block: mcpResultOf(delta) })
  }

  #end(): string {
    const { open } = this.#indexes
    return open === undefined ? "" : frame("content_block_stop", { index: open })
  }
}

/** A call: of the client's tool, or of a server's that the gateway makes. */
const callOf = (
  { servers }: ReplyContext,
  { id = "", name = "" }: { readonly id?: string; readonly name?: string },
) => {
  const tool = servers === undefined ? undefined : toolOfServer(servers, name)
  return tool === undefined
    ? { type: "tool_use", id, name }
    : { type: "mcp_tool_use", id, name: tool.name, server_name: tool.label }
}

const mcpResultOf = ({ id, v, blocks = [], isError = false }: Omit<ToolResultDelta, "i" | "t">) => ({
  type: "mcp_tool_result",
  tool_use_id: id,
  is_error: isError,
  content: (v === undefined ? blocks : [{ t: "text", v } as const]).map((block) =>
    block.t === "text" ? { type: "text", text: block.v } : { type: "text", text: `[${block.t}]` },
  ),
})

function frame(type: string, data: object): string {
  return `event: ${type}\ndata: ${dataOf(writeJson({ type, ...data }))}\n\n`
}

const emptyBlock = (context: ReplyContext, delta: Delta): object => {
  switch (delta.t) {
    case "text":
      return { type: "text", text: "" }
    case "reasoning":
      return delta.redacted === true
        ? { type: "redacted_thinking", data: delta.v }
        : { type: "thinking", thinking: "", signature: "" }
    case "tool_call":
      return { ...callOf(context, delta), input: {} }
    case "vendor": {
      const block = parseObject(delta.v)
      if (block === undefined) return {}
      return new JsonText(isObject(block["input"]) ? editJsonText(delta.v, [set({}, "input")]) : delta.v)
    }
  }
}

const partsOf = (delta: Delta): ReadonlyArray<object> => {
  if (delta.t === "text") {
    const { v, citations = [] } = delta
    const cited = citations.map((citation) => ({ type: "citations_delta", citation: foreignCitation(citation) }))
    return v === "" ? cited : [{ type: "text_delta", text: v }, ...cited]
  }
  if (delta.t === "vendor") {
    if (!isObject(parseObject(delta.v)?.["input"])) return []
    return [{ type: "input_json_delta", partial_json: new JsonSource(delta.v).textAt(["input"]) }]
  }
  if (delta.t === "tool_call") {
    return delta.args === undefined ? [] : [{ type: "input_json_delta", partial_json: delta.args }]
  }
  if (delta.redacted === true) return []
  const { v, signature } = delta
  return [
    ...(v === "" ? [] : [{ type: "thinking_delta", thinking: v }]),
    ...(signature === undefined ? [] : [{ type: "signature_delta", signature }]),
  ]
}

/** Blocks of other vendors' tools and pictures have no form here. */
const hasWords = ({ dialect }: Pick<VendorBlock, "dialect">): boolean => dialect === "anthropic"

export const wholeMessage = (context: ReplyContext, reply: ExchangeResponse) => ({
  id: messageId(context),
  type: "message",
  role: "assistant",
  model: context.model,
  content: reply.blocks.flatMap((block) => contentOf(context, block)),
  stop_reason: stopReasons[reply.stop],
  stop_sequence: reply.stopSequence ?? null,
  usage: usageOf(reply.usage),
  ...toldIn(notesOf(unnamed(reply.stop), omittedOf(reply, hasWords))),
})

const contentOf = (context: ReplyContext, block: AnswerBlock): ReadonlyArray<object> => {
  switch (block.t) {
    case "text":
      return [
        { type: "text", text: block.v, ...(block.citations && { citations: block.citations.map(foreignCitation) }) },
      ]
    case "reasoning":
      return block.redacted === true
        ? [{ type: "redacted_thinking", data: block.v }]
        : [{ type: "thinking", thinking: block.v, signature: block.signature ?? "" }]
    case "tool_call":
      return [{ ...callOf(context, block), input: inputOf(block) }]
    case "tool_result":
      return [mcpResultOf(block)]
    case "vendor": {
      return ownBlock("anthropic", block) === undefined ? [] : [new JsonText(block.v)]
    }
  }
}

/** @param path the refused field */
export const messagesError = ({ code, message, requestId, detail }: ErrorBody, status: number, path?: string) => ({
  type: "error",
  error: {
    type: errorType(status),
    message,
    code,
    ...(detail !== undefined && { detail }),
    ...(path === "thread" && { details: unthreaded }),
  },
  request_id: requestId,
})

/**
 * Asks Anthropic's SDKs to go on without a thread that the server holds: they then send all messages. Source:
 * `ThreadUnsupportedRequestErrorDetails` of Anthropic's SDKs
 */
const unthreaded = { error_code: "thread_unsupported_request" }

const errorTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
}

const errorType = (status: number): string =>
  errorTypes[status] ?? (status >= 500 ? "api_error" : "invalid_request_error")
