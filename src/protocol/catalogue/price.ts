/** Prices: per million tokens, or per million units of a dimension, as strings. */
import { Schema } from "effect"
import { ServiceTier } from "../extra-params.ts"
import { hostedUnits } from "../hosted-unit.ts"
import { sizeForm } from "../kinds/image.ts"
import { videoSizeForm } from "../kinds/video.ts"
import { Currency } from "../usage.ts"
import { NonNegative, TokenLimit } from "../values/bounds.ts"
import { Instant } from "../values/instant.ts"
import { Id } from "./values.ts"

/** The form of a size in price lists, which have one spelling: `4K`. */
const inPrices = (form: string): string => form.replaceAll("[kK]", "K")

/**
 * Dimensions that can have their own price. The price of a picture may be that of its size and quality, the price of a
 * video that of its size: the most exact name counts.
 */
export const PricedDimension = Schema.String.check(
  Schema.isPattern(
    new RegExp(
      `^(reasoning|audio_in|audio_out|image_in|cache_read_audio|${hostedUnits.join("|")}|searches|characters|audio_seconds|transcript_in|transcript_out|cache_hours|images(:${inPrices(sizeForm)}(:[a-z]{1,32})?)?|video_seconds(:${inPrices(videoSizeForm)})?)$`,
    ),
    { expected: "a dimension of usage, such as characters, images:1024x1024:high or video_seconds:1280x720" },
  ),
).annotate({
  description: "A dimension of usage, such as `characters`, `images:1024x1024:high` or `video_seconds:1280x720`",
})

/** A decimal from 0 to 1. */
const Share = Schema.String.check(
  Schema.isPattern(/^(0(\.\d{1,10})?|1(\.0{1,10})?)$/, { expected: "a decimal from 0 to 1" }),
)

/** Dimensions whose price can depend on the length of the input: those that are tokens. */
const PricedTokens = Schema.String.check(
  Schema.isPattern(/^(reasoning|audio_in|audio_out|image_in|cache_read_audio)$/, { expected: "a dimension of tokens" }),
)

const tokenPrices = {
  /** Tokens of input, per million. */
  input: Schema.optionalKey(NonNegative),
  /** Tokens of output, per million. */
  output: Schema.optionalKey(NonNegative),
  /** Tokens read from a vendor's cache, per million; `input` if absent. */
  cacheRead: Schema.optionalKey(NonNegative),
  /** Tokens written to a cache, per million; `input` if absent. */
  cacheWrite: Schema.optionalKey(NonNegative),
  /** Tokens written to a cache for an hour; `cacheWrite` if absent. */
  cacheWrite1h: Schema.optionalKey(NonNegative),
}

/** Factors of the prices of tokens by service tier, e.g. `{ priority: "2", flex: "0.5" }`. */
const TierFactors = Schema.Record(ServiceTier, NonNegative)

/**
 * The prices of a call whose input has more than `tokens` tokens, including those read from a cache and written to one. A
 * price that is absent is as below the threshold.
 */
export const PriceAbove = Schema.Struct({
  /** The threshold: the number of tokens of input that must be exceeded. */
  tokens: TokenLimit,
  ...tokenPrices,
  dims: Schema.optionalKey(Schema.Record(PricedTokens, NonNegative)),
  tiers: Schema.optionalKey(TierFactors),
})
export type PriceAbove = typeof PriceAbove.Type

export const PriceEntry = Schema.Struct({
  /** The handle of the model. */
  model: Id,
  /** The currency of the organisations that pay it, e.g. `USD`. */
  currency: Currency,
  /** `chat` needs `input` and `output`; other kinds need the price by which they are billed. */
  ...tokenPrices,
  /** Prices per million units of a dimension, such as `images` or `web_search`. */
  dims: Schema.optionalKey(Schema.Record(PricedDimension, NonNegative)),
  /** Factors of the prices of tokens by service tier, e.g. `{ priority: "2" }`. */
  tiers: Schema.optionalKey(TierFactors),
  /** Prices of long inputs, by rising thresholds; all of a call is billed at one of them. */
  above: Schema.optionalKey(Schema.Array(PriceAbove).check(Schema.isMinLength(1), Schema.isMaxLength(8))),
  /** The share of the price that a reply from the cache costs, e.g. `"0.1"`; nothing if absent. */
  cachedReply: Schema.optionalKey(Share),
  /** The share of the price that a line of a batch costs, e.g. `"0.5"`, tools that the vendor runs excepted; 1 if absent. */
  batch: Schema.optionalKey(Share),
  /** The date or instant from which the price is in force. */
  from: Instant,
})
export type PriceEntry = typeof PriceEntry.Type
