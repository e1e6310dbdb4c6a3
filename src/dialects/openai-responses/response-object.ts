/** OpenAI's response as an object, with its items. Source: https://platform.openai.com/docs/api-reference/responses/object */
import { type AnswerBlock, isOwnBlock, type ReplyBlock } from "../../protocol/block.ts"
import type { Citation } from "../../protocol/citation.ts"
import type { Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { JsonText } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import { notesOf, omittedOf, type ReplyContext, replyId, toldIn, unnamedStop } from "../client/client-api.ts"
import { responsesAnnotation } from "../openai-chat/citations.ts"
import { argumentsText } from "../parse/exact-json.ts"
import { openaiLogprobs } from "../vendor/logprobs.ts"
import { pictureIn } from "../vendor/reply-pictures.ts"
import { signatureToResponses } from "../vendor/signature.ts"
import { ownBlock } from "../vendor/vendor-blocks.ts"
import { serverItem } from "./server-items.ts"

/** A prefix of opaque reasoning, in the field in which a client sends it back. */
export const redactedMark = "redacted:"

type Counts = Pick<Usage, "inTokens" | "outTokens" | "cacheReadTokens" | "cacheWriteTokens" | "dims">

export const usageOf = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims = {} }: Counts) => {
  const input = inTokens + cacheReadTokens + cacheWriteTokens
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cacheReadTokens,
      ...(cacheWriteTokens > 0 && { cache_write_tokens: cacheWriteTokens }),
    },
    output_tokens: outTokens,
    output_tokens_details: { reasoning_tokens: dims["reasoning"] ?? 0 },
    total_tokens: input + outTokens,
  }
}

export const incomplete: Readonly<Partial<Record<Stop, string>>> = {
  max_tokens: "max_output_tokens",
  filtered: "content_filter",
  refusal: "content_filter",
}

export const unnamed = (stop: Stop) => unnamedStop(stop, "pause", "malformed_call")

export interface Progress {
  readonly status: string
  readonly output: ReadonlyArray<object>
  readonly usage: object | null
  readonly incompleteReason?: string | undefined
  readonly error?: object
}

export const responseId = (context: ReplyContext): string => context.kept?.id ?? `resp_${replyId(context)}`

/** The conversation that a response continues, as a field of it. */
export const conversationIn = ({ kept }: ReplyContext): { readonly conversation?: { readonly id: string } } =>
  kept?.conversation === undefined ? {} : { conversation: { id: kept.conversation } }

export const responseOf = (context: ReplyContext, { status, output, usage, incompleteReason, error }: Progress) => ({
  id: responseId(context),
  object: "response",
  created_at: context.createdS,
  ...(context.kept?.isBackground === true && { background: true }),
  ...conversationIn(context),
  status,
  error: error ?? null,
  incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
  instructions: null,
  max_output_tokens: null,
  model: context.model,
  output,
  parallel_tool_calls: true,
  previous_response_id: context.kept?.previous ?? null,
  reasoning: { effort: null, summary: null },
  store: context.kept !== undefined,
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: null,
  truncation: "disabled",
  usage,
  user: null,
  metadata: {},
  ...context.echo,
})

/** A response that has no output yet. */
export const begunResponse = (context: ReplyContext) =>
  responseOf(context, { status: "in_progress", output: [], usage: null })

export const wholeResponse = (context: ReplyContext, reply: ExchangeResponse) => {
  const { blocks, stop, usage } = reply
  const incompleteReason = incomplete[stop]
  const response = responseOf(context, {
    status: incompleteReason === undefined ? "completed" : "incomplete",
    output: itemsOf(context, blocks),
    usage: usageOf(usage),
    incompleteReason,
  })
  return { ...response, ...toldIn(notesOf(unnamed(stop), omittedOf(reply, hasWords))) }
}

const itemsOf = (context: ReplyContext, blocks: ReadonlyArray<AnswerBlock>): ReadonlyArray<object> => {
  const items: Array<object> = []
  for (const block of blocks) {
    const made = serverItem(context, block, blocks)
    if (made !== undefined) items.push(...(made === null ? [] : [made]))
    else if (isOwnBlock(block) && hasWords(block)) items.push(itemOf(context, block, items.length, "completed"))
  }
  return items
}

/** Pictures are the only blocks of other vendors' tools that have a form here. */
export const hasWords = (block: ReplyBlock | Extract<Delta, { t: "vendor" }>): boolean =>
  block.t !== "vendor" || block.dialect === "openai" || pictureIn(block) !== undefined

export const textPart = (
  text: string,
  logprobs: ReadonlyArray<TokenLogprob> = [],
  citations: ReadonlyArray<Citation> = [],
) => ({
  type: "output_text",
  text,
  annotations: citations.map((citation) => responsesAnnotation(citation, text.length)),
  logprobs: openaiLogprobs(logprobs),
})

/** It contains the id of its response. */
export const itemId = (context: ReplyContext, kind: string, index: number): string =>
  `${kind}_${responseId(context).slice("resp_".length)}_${index}`

export const itemOf = (context: ReplyContext, block: ReplyBlock, index: number, status: string): object => {
  switch (block.t) {
    case "text":
      return {
        type: "message",
        id: itemId(context, "msg", index),
        status,
        role: "assistant",
        ...(block.phase !== undefined && { phase: block.phase }),
        content: status === "in_progress" ? [] : [textPart(block.v, block.logprobs, block.citations)],
      }
    case "tool_call": {
      const group = context.groups?.get(block.name)
      const named = {
        call_id: block.id,
        name: group?.name ?? block.name,
        ...(group !== undefined && { namespace: group.namespace }),
      }
      const isBegun = status === "in_progress"
      return block.text === undefined
        ? {
            type: "function_call",
            id: itemId(context, "fc", index),
            ...named,
            arguments: isBegun ? "" : argumentsText(block),
            status,
          }
        : {
            type: "custom_tool_call",
            id: itemId(context, "ctc", index),
            ...named,
            input: isBegun ? "" : block.text,
            status,
          }
    }
    case "reasoning": {
      const { v, signature, redacted } = block
      const sealed = redacted === true ? redactedMark + v : signature && signatureToResponses(signature)
      return {
        type: "reasoning",
        id: itemId(context, "rs", index),
        summary: v === "" || redacted === true ? [] : [{ type: "summary_text", text: v }],
        ...(sealed !== undefined && { encrypted_content: sealed }),
      }
    }
    case "vendor": {
      if (block.dialect === "openai") return ownBlock("openai", block) === undefined ? {} : new JsonText(block.v)
      const result = status === "in_progress" ? null : (pictureIn(block)?.data ?? null)
      return { type: "image_generation_call", id: itemId(context, "ig", index), status, result }
    }
  }
}
