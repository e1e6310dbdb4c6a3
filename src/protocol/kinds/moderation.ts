/** Moderation: the categories for which a text or a picture is flagged. */
import { Schema } from "effect"
import { ImageBlock } from "../block.ts"
import { RequestCache } from "../control/reply-cache.ts"
import { ClientRequestId, ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"
import { Usage } from "../usage.ts"

/** The maximum number of inputs of one call. */
export const maxModerationInputs = 128

export const ModerationRequest = Schema.Struct({
  model: ModelHandle,
  /** Texts are judged one by one; with a picture among them, all are judged together. */
  input: Schema.Array(Schema.Union([Schema.NonEmptyString, ImageBlock])).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maxModerationInputs),
  ),
  meta: Schema.optionalKey(ExchangeMeta),
  cache: Schema.optionalKey(RequestCache),
}).annotate({ identifier: "ModerationRequest" })
export type ModerationRequest = typeof ModerationRequest.Type

export const InputType = Schema.Literals(["text", "image"])
export type InputType = typeof InputType.Type

export const ModerationResult = Schema.Struct({
  flagged: Schema.Boolean,
  /** Categories by the vendor's names. */
  categories: Schema.Record(Schema.String, Schema.Boolean),
  scores: Schema.Record(Schema.String, Schema.Finite),
  /** The kinds of input that each category was judged by, if the vendor reports them. */
  inputTypes: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(InputType))),
})
export type ModerationResult = typeof ModerationResult.Type

export const ModerationResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: Schema.optionalKey(ClientRequestId),
  model: Schema.String,
  /** One for each text, or one for all if there is a picture. */
  results: Schema.Array(ModerationResult),
  usage: Usage,
}).annotate({ identifier: "ModerationResponse" })
export type ModerationResponse = typeof ModerationResponse.Type
