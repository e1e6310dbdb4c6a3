/**
 * Converse's replies as clients read them, whole and streamed. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
import { isOwnBlock, type ReplyBlock } from "../../protocol/block.ts"
import type { Citation } from "../../protocol/citation.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import { BlockIndexes } from "../client/block-indexes.ts"
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
import { inputOf } from "../parse/exact-json.ts"
import { dataOf } from "../parse/sse-frames.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"

const stopReasons: Readonly<Record<Stop, string>> = {
  end: "end_turn",
  interrupted: "end_turn",
  pause: "end_turn",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_call: "tool_use",
  filtered: "content_filtered",
  refusal: "content_filtered",
  malformed_call: "malformed_tool_use",
}

const unnamed = (stop: Stop) => unnamedStop(stop, "interrupted", "pause")

const usageOf = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens }: Usage) => ({
  inputTokens: inTokens,
  outputTokens: outTokens,
  totalTokens: inTokens + outTokens + cacheReadTokens + cacheWriteTokens,
  cacheReadInputTokens: cacheReadTokens,
  cacheWriteInputTokens: cacheWriteTokens,
})

const metricsOf = ({ createdS, createdMs = createdS * 1000 }: ReplyContext) => ({
  latencyMs: Math.max(0, Date.now() - createdMs),
})

const frame = (type: string, data: object): string => `event: ${type}\ndata: ${dataOf(writeJson(data))}\n\n`

export class ConverseEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  readonly #indexes = new BlockIndexes()
  readonly #omitted = new Set<string>()

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return frame("messageStart", { role: "assistant" })
  }

  delta(delta: Delta): string {
    if (delta.t === "vendor") {
      this.#omitted.add(typeOfBlock(delta))
      return ""
    }
    const known = this.#indexes.of(delta.i)
    const begin = known === undefined ? this.#begin(delta) : ""
    const contentBlockIndex = known ?? this.#indexes.open
    const parts = partsOf(delta).map((part) => frame("contentBlockDelta", { contentBlockIndex, delta: part }))
    return begin + parts.join("")
  }

  close({ stop, usage }: typeof CloseEvent.Type): string {
    const x_svc = chargeOf(usage, notesOf(unnamed(stop), this.#omitted))
    const last = frame("metadata", { usage: usageOf(usage), metrics: metricsOf(this.#context), x_svc })
    return `${this.#end()}${frame("messageStop", { stopReason: stopReasons[stop] })}${last}`
  }

  error({ message }: ErrorBody): string {
    return frame("error", { message })
  }

  #begin(delta: Delta): string {
    const end = this.#end()
    const index = this.#indexes.begin(delta.i)
    if (delta.t !== "tool_call") return end
    const toolUse = { toolUseId: delta.id ?? "", name: delta.name ?? "" }
    return end + frame("contentBlockStart", { contentBlockIndex: index, start: { toolUse } })
  }

  #end(): string {
    const { open } = this.#indexes
    return open === undefined ? "" : frame("contentBlockStop", { contentBlockIndex: open })
  }
}

const partsOf = (delta: Exclude<Delta, { readonly t: "vendor" }>): ReadonlyArray<object> => {
  switch (delta.t) {
    case "text":
      return [
        ...(delta.v === "" ? [] : [{ text: delta.v }]),
        ...(delta.citations ?? []).map((citation) => ({ citation: citationOf(citation) })),
      ]
    case "tool_call":
      return delta.args === undefined ? [] : [{ toolUse: { input: delta.args } }]
    case "reasoning":
      if (delta.redacted === true) return [{ reasoningContent: { redactedContent: blobOf(delta.v) } }]
      return [
        ...(delta.v === "" ? [] : [{ reasoningContent: { text: delta.v } }]),
        ...(delta.signature === undefined ? [] : [{ reasoningContent: { signature: delta.signature } }]),
      ]
  }
}

export const wholeConverse = (context: ReplyContext, reply: ExchangeResponse) => ({
  output: { message: { role: "assistant", content: reply.blocks.filter(isOwnBlock).flatMap(contentOf) } },
  stopReason: stopReasons[reply.stop],
  usage: usageOf(reply.usage),
  metrics: metricsOf(context),
  ...toldIn(
    notesOf(
      unnamed(reply.stop),
      omittedOf(reply, () => false),
    ),
  ),
})

const contentOf = (block: ReplyBlock): ReadonlyArray<object> => {
  switch (block.t) {
    case "text":
      if (block.citations !== undefined && block.citations.length > 0) return [cited(block.v, block.citations)]
      return block.v === "" ? [] : [{ text: block.v }]
    case "reasoning":
      return block.redacted === true
        ? [{ reasoningContent: { redactedContent: blobOf(block.v) } }]
        : [{ reasoningContent: { reasoningText: { text: block.v, signature: block.signature ?? "" } } }]
    case "tool_call":
      return [{ toolUse: { toolUseId: block.id, name: block.name, input: inputOf(block) } }]
    case "vendor":
      return []
  }
}

/** Opaque data of a vendor is a text, which is a blob here. */
const blobOf = (text: string): string => Buffer.from(text).toString("base64")

const cited = (text: string, citations: ReadonlyArray<Citation>) => ({
  citationsContent: { content: [{ text }], citations: citations.map(citationOf) },
})

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html */
const citationOf = ({ url, title, text, source }: Citation) => ({
  ...(title !== undefined && { title }),
  ...(source !== undefined && { source }),
  ...(text !== undefined && { sourceContent: [{ text }] }),
  ...(url !== undefined && { location: { web: { url } } }),
})
