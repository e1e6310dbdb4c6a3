/** The events of a streamed exchange. Exactly one of `t.close` and `t.err` ends every stream. */
import { Schema } from "effect"
import { phase, SealingDialect, ToolResultBlock } from "./block.ts"
import { citations } from "./citation.ts"
import { CacheState } from "./control/reply-cache.ts"
import { ErrorBody } from "./error.ts"
import { ClientRequestId, Stop, stopSequence } from "./exchange.ts"
import { mostReplies, TokenLogprob } from "./extra-params.ts"
import { MadeFigures } from "./kinds/image.ts"
import { Segment } from "./kinds/transcription.ts"
import { protocolLabel } from "./labels.ts"
import { Usage } from "./usage.ts"

export { protocolLabel }

const BlockIndex = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Sent with the upstream's first frame. */
export const OpenEvent = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: Schema.optionalKey(ClientRequestId),
  model: Schema.String,
  protocol: Schema.Literal(protocolLabel),
  sessionId: Schema.optionalKey(Schema.String),
  /** Whether the reply comes from the cache; absent where that is off. */
  cache: Schema.optionalKey(CacheState),
})

/**
 * The number of the reply that a delta belongs to, if there are several; the first if absent. Each reply numbers its own
 * blocks.
 */
const reply = Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostReplies - 1 })))

export const TextDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("text"),
  v: Schema.String,
  phase,
  /** Sources of the block's text so far, which ends with this delta. */
  citations,
  /** The probabilities of the tokens of this part. */
  logprobs: Schema.optionalKey(Schema.Array(TokenLogprob)),
  reply,
})

export const ReasoningDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("reasoning"),
  v: Schema.String,
  signature: Schema.optionalKey(Schema.String),
  redacted: Schema.optionalKey(Schema.Boolean),
  reply,
})

/**
 * A part of a tool call: first `{id, name}`, then fragments of the JSON input in `args`; for a tool that takes a text,
 * fragments of it in `text`.
 */
export const ToolCallDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("tool_call"),
  id: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  args: Schema.optionalKey(Schema.String),
  text: Schema.optionalKey(Schema.String),
  reply,
})

/** A block of a vendor's own tool, whole. */
export const VendorDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("vendor"),
  dialect: SealingDialect,
  v: Schema.String,
  reply,
})

/** The result of a call that the gateway made for the model, whole. */
export const ToolResultDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("tool_result"),
  id: ToolResultBlock.fields.id,
  v: ToolResultBlock.fields.v,
  blocks: ToolResultBlock.fields.blocks,
  isError: ToolResultBlock.fields.isError,
})
export type ToolResultDelta = typeof ToolResultDelta.Type

/** A part of one block; the parts of index `i`, concatenated, are that block of the non-streaming reply. */
export const Delta = Schema.Union([TextDelta, ReasoningDelta, ToolCallDelta, VendorDelta])
export type Delta = typeof Delta.Type

/** A picture of a streamed reply; partial ones come before the whole one of the same index. */
export const ImageDelta = Schema.Struct({
  i: BlockIndex,
  t: Schema.Literal("image"),
  mime: Schema.String,
  /** Base64. */
  data: Schema.String,
  partial: Schema.Boolean,
  /** The settings of a whole picture, as the vendor names them. */
  made: Schema.optionalKey(MadeFigures),
})

/** Sound of a streamed reply, in base64; the parts of an index, decoded and concatenated, are its bytes. */
export const AudioDelta = Schema.Struct({ i: BlockIndex, t: Schema.Literal("audio"), data: Schema.String })

/** The words of one speaker in a streamed transcript. */
export const SegmentDelta = Schema.Struct({ i: BlockIndex, t: Schema.Literal("segment"), ...Segment.fields })

export const MediaDelta = Schema.Union([ImageDelta, AudioDelta, SegmentDelta])
export type MediaDelta = typeof MediaDelta.Type

export const WarnEvent = Schema.Struct({
  code: Schema.Literals(["params_clamped", "vendor_failover", "settlement_deferred", "budget_near", "not_kept"]),
  message: Schema.String,
  detail: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
})
export type WarnEvent = typeof WarnEvent.Type

export const CloseEvent = Schema.Struct({
  stop: Stop,
  stopSequence,
  /** The stop reasons of all replies, if several were asked for. */
  stops: Schema.optionalKey(Schema.Array(Stop)),
  usage: Usage,
})

/** Every event kind with the schema of its `data`. */
export const eventData = {
  "t.open": OpenEvent,
  "t.delta": Schema.Union([...Delta.members, ...MediaDelta.members, ToolResultDelta]),
  "t.usage": Usage,
  "t.warn": WarnEvent,
  "t.close": CloseEvent,
  "t.err": ErrorBody,
} as const
export type EventName = keyof typeof eventData

const sseEvent = <Name extends EventName>(event: Name) =>
  Schema.Struct({ id: Schema.String, event: Schema.Literal(event), data: Schema.fromJsonString(eventData[event]) })

/** One server-sent event of a streamed exchange; `id` is a counter from 0. */
export const ExchangeEvent = Schema.Union([
  sseEvent("t.open"),
  sseEvent("t.delta"),
  sseEvent("t.usage"),
  sseEvent("t.warn"),
  sseEvent("t.close"),
  sseEvent("t.err"),
]).annotate({ identifier: "ExchangeEvent" })
export type ExchangeEvent = typeof ExchangeEvent.Type
