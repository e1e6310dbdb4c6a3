/**
 * OpenAI's chat completions as clients read them, streamed and whole. Source:
 * https://platform.openai.com/docs/api-reference/chat/object and /streaming
 */
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import type { Usage } from "../../protocol/usage.ts"
import { ClientEvents, chargeOf, type EventEncoder, type ReplyContext, replyId } from "../client-api.ts"

const finishReasons: Readonly<Record<Stop, string>> = {
  end: "stop",
  stop_sequence: "stop",
  interrupted: "stop",
  max_tokens: "length",
  tool_call: "tool_calls",
  filtered: "content_filter",
}

const chatUsage = (usage: Usage) => {
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

const completionId = (context: ReplyContext): string => `chatcmpl-${replyId(context)}`

export class ChatEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  /** What all chunks begin with, made with the first: a whole reply has none. */
  #begin: string | undefined
  /** The number of each tool call, by its block. */
  readonly #calls = new Map<number, number>()

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return this.#chunk(`{"role":"assistant","content":"","refusal":null}`)
  }

  /** The hot path: text deltas are by far the most frequent events and are concatenated by hand. */
  delta(delta: Delta, json?: string): string {
    switch (delta.t) {
      case "text":
        return this.#chunk(`{"content":${json ?? JSON.stringify(delta.v)}}`)
      case "reasoning":
        return delta.v === "" || delta.redacted === true
          ? ""
          : this.#chunk(`{"reasoning_content":${JSON.stringify(delta.v)}}`)
      case "tool_call":
        return this.#chunk(JSON.stringify({ tool_calls: [this.#call(delta)] }))
    }
  }

  close({ stop, usage }: typeof CloseEvent.Type): string {
    const charge = `"x_svc":${JSON.stringify(chargeOf(usage))}`
    const finish = JSON.stringify(finishReasons[stop])
    if (!this.#context.includesUsage) return `${this.#chunk("{}", finish, `,${charge}`)}data: [DONE]\n\n`
    const counts = `"choices":[],"usage":${JSON.stringify(chatUsage(usage))},${charge}}`
    return `${this.#chunk("{}", finish)}${this.#head()}${counts}\n\ndata: [DONE]\n\n`
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

  #chunk(delta: string, finish = "null", more = ""): string {
    return `${this.#head()}"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]${more}}\n\n`
  }

  #call({ i, id, name, args }: Extract<Delta, { t: "tool_call" }>) {
    const known = this.#calls.get(i)
    const index = known ?? this.#calls.size
    if (known === undefined) this.#calls.set(i, index)
    if (id === undefined) return { index, function: { arguments: args ?? "" } }
    return { index, id, type: "function", function: { name: name ?? "", arguments: args ?? "" } }
  }
}

export const chatCompletion = (context: ReplyContext, { blocks, stop, usage }: ExchangeResponse) => {
  const text = blocks.map((block) => (block.t === "text" ? block.v : "")).join("")
  const reasoning = blocks.map((block) => (block.t === "reasoning" && block.redacted !== true ? block.v : "")).join("")
  const calls = blocks.flatMap((block) =>
    block.t === "tool_call"
      ? [{ id: block.id, type: "function", function: { name: block.name, arguments: argumentsText(block.input) } }]
      : [],
  )
  return {
    id: completionId(context),
    object: "chat.completion",
    created: context.createdS,
    model: context.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text === "" && calls.length > 0 ? null : text,
          refusal: null,
          ...(reasoning !== "" && { reasoning_content: reasoning }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: finishReasons[stop],
      },
    ],
    usage: chatUsage(usage),
  }
}

/** Arguments that were not a JSON object are given as the model wrote them. */
export const argumentsText = (input: Readonly<Record<string, unknown>>): string =>
  typeof input["$raw"] === "string" && Object.keys(input).length === 1 ? input["$raw"] : JSON.stringify(input)

/** https://platform.openai.com/docs/guides/error-codes */
export const chatError = ({ code, message, detail }: ErrorBody, status: number, path?: string) => ({
  error: { message, type: errorType(status), param: path ?? null, code, ...(detail !== undefined && { detail }) },
})

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
