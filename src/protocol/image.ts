/** Pictures from text and from other pictures. Source: calls "twp/1 shapes", images. */
import { Schema } from "effect"
import { ImageBlock } from "./block.ts"
import { ClientRequestId, ExchangeMeta } from "./exchange.ts"
import { ModelHandle } from "./model-handle.ts"
import { Usage } from "./usage.ts"

const optional = Schema.optionalKey

/** Width and height in pixels, or `auto`. */
export const ImageSize = Schema.String.check(Schema.isPattern(/^(auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/))

export const ImageFormat = Schema.Literals(["png", "jpeg", "webp"])
export type ImageFormat = typeof ImageFormat.Type

export const maxImages = 10
/** Pictures that are given to be changed. */
export const maxSourceImages = 16

const fields = {
  model: ModelHandle,
  prompt: Schema.NonEmptyString.check(Schema.isMaxLength(32_000)),
  /** 1 if absent. */
  n: optional(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxImages }))),
  size: optional(ImageSize),
  quality: optional(Schema.String.check(Schema.isPattern(/^[a-z]{1,32}$/))),
  background: optional(Schema.Literals(["auto", "transparent", "opaque"])),
  /** `png` if absent. */
  format: optional(ImageFormat),
  /** Each picture is sent as it comes, after partial ones where the vendor has them. */
  stream: optional(Schema.Boolean),
  meta: optional(ExchangeMeta),
}

/** The fields beside the pictures. */
export const ImageFields = Schema.Struct(fields)
export type ImageFields = typeof ImageFields.Type

/** In JSON; a form has the same fields, and the pictures are its parts `images` and `mask`. */
export const ImageRequest = Schema.Struct({
  ...fields,
  /** Pictures to change; without them a new one is made. */
  images: optional(Schema.Array(ImageBlock).check(Schema.isMinLength(1), Schema.isMaxLength(maxSourceImages))),
  /** What of the first picture may change: where it is transparent. */
  mask: optional(ImageBlock),
}).annotate({ identifier: "ImageRequest" })
export type ImageRequest = typeof ImageRequest.Type

export const MadeImage = Schema.Struct({
  mime: Schema.String,
  /** Base64. */
  data: Schema.String,
})
export type MadeImage = typeof MadeImage.Type

export const ImageResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: optional(ClientRequestId),
  model: Schema.String,
  images: Schema.Array(MadeImage),
  usage: Usage,
}).annotate({ identifier: "ImageResponse" })
export type ImageResponse = typeof ImageResponse.Type
