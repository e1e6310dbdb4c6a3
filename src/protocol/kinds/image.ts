/** Pictures from text and from other pictures. */
import { Schema } from "effect"
import { ImageBlock } from "../block.ts"
import { ClientRequestId, ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"
import { Usage } from "../usage.ts"

const optional = Schema.optionalKey

/** The forms of a size: width and height in pixels, `auto`, lines such as `2K`, or a ratio such as `16:9`. */
export const sizeForm = String.raw`(auto|[1-9]\d{0,4}x[1-9]\d{0,4}|(?:0\.5|[1-9]\d?)[kK]|[1-9]\d?:[1-9]\d?)`

/** A size that the model knows; vendors have different forms of it. */
export const ImageSize = Schema.String.check(
  Schema.isPattern(new RegExp(`^${sizeForm}$`), { expected: "a size such as 1024x1024, 2K, 16:9 or auto" }),
)

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
  /** Lines such as `2K`, where the size is a ratio. */
  resolution: optional(
    Schema.String.check(Schema.isPattern(/^(?:0\.5|[1-9]\d?)[kK]$/, { expected: "a resolution such as 2K" })),
  ),
  quality: optional(Schema.String.check(Schema.isPattern(/^[a-z]{1,32}$/, { expected: "a quality such as high" }))),
  background: optional(Schema.Literals(["auto", "transparent", "opaque"])),
  /** `png` if absent. */
  format: optional(ImageFormat),
  /** Per cent of the quality that remains, of a format with losses. */
  compression: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  /** The nearness of a result to the pictures that are given. */
  fidelity: optional(Schema.Literals(["low", "high"])),
  /** The strictness of the vendor's own filter. */
  moderation: optional(Schema.Literals(["low", "auto"])),
  /** A style of the vendor's, such as `vivid`. */
  style: optional(Schema.String.check(Schema.isPattern(/^[\w/ -]{1,64}$/, { expected: "a style such as vivid" }))),
  /** The same seed and request make similar pictures. */
  seed: optional(Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 4_294_967_295 }))),
  /** The number of partial pictures before the whole one in a stream. */
  partialImages: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))),
  /** Whether each picture is sent when it arrives, after partial ones if the vendor has them. */
  stream: optional(Schema.Boolean),
  meta: optional(ExchangeMeta),
}

/** The fields beside the pictures. */
export const ImageFields = Schema.Struct(fields)
export type ImageFields = typeof ImageFields.Type

/** The request in JSON; a form has the same fields, and the pictures are its parts `images` and `mask`. */
export const ImageRequest = Schema.Struct({
  ...fields,
  /** Pictures to change; without them a new one is made. */
  images: optional(Schema.Array(ImageBlock).check(Schema.isMinLength(1), Schema.isMaxLength(maxSourceImages))),
  /** The mask: the first picture may change where the mask is transparent. */
  mask: optional(ImageBlock),
}).annotate({ identifier: "ImageRequest" })
export type ImageRequest = typeof ImageRequest.Type

export const MadeImage = Schema.Struct({
  mime: Schema.String,
  /** Base64. */
  data: Schema.String,
  /** The prompt as the vendor changed it. */
  revisedPrompt: optional(Schema.String),
})
export type MadeImage = typeof MadeImage.Type

export const MadeFigures = Schema.Struct({
  size: optional(Schema.String),
  quality: optional(Schema.String),
  background: optional(Schema.String),
})
export type MadeFigures = typeof MadeFigures.Type

export const ImageResponse = Schema.Struct({
  requestId: Schema.String,
  clientRequestId: optional(ClientRequestId),
  model: Schema.String,
  images: Schema.Array(MadeImage),
  /** The settings of the pictures, as the vendor names them. */
  made: optional(MadeFigures),
  usage: Usage,
}).annotate({ identifier: "ImageResponse" })
export type ImageResponse = typeof ImageResponse.Type
