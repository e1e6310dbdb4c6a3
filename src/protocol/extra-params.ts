/**
 * Parameters of an exchange that not every vendor has. A target that lacks one is skipped, unless its value changes nothing.
 * If no target of a model has it, the request is refused and the error names it.
 */
import { Schema } from "effect"

const optional = Schema.optionalKey
const between = (minimum: number, maximum: number) => Schema.isBetween({ minimum, maximum })

/** A price's factor by its name: `flex`, `priority`. */
export const ServiceTier = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,31}$/, { expected: "a service tier such as flex" }),
)

/** The number of replies to one prompt. */
export const mostReplies = 8

/** Options of one vendor's own API. They reach targets of that vendor; at others they could change nothing. */
export const VendorOptions = Schema.Struct({
  openai: optional(
    Schema.Struct({
      promptCacheOptions: optional(Schema.JsonObject),
      /** Whether a thread that is too long loses its beginning, instead of being refused. */
      truncation: optional(Schema.Literals(["auto", "disabled"])),
      reasoningMode: optional(
        Schema.String.check(Schema.isPattern(/^[a-z_]{1,32}$/, { expected: "1 to 32 lower-case letters and _" })),
      ),
    }),
  ),
  anthropic: optional(
    Schema.Struct({
      /** The number of tokens that a model may use for its task, as it is shown to the model. */
      taskBudget: optional(
        Schema.Struct({
          type: Schema.Literal("tokens"),
          total: Schema.Int.check(between(1, 100_000_000)),
          remaining: optional(Schema.NullOr(Schema.Int.check(between(0, 100_000_000)))),
        }),
      ),
    }),
  ),
  gemini: optional(
    Schema.Struct({
      /** The name of content that the vendor keeps; without it a prompt lacks its beginning. */
      cachedContent: optional(Schema.NonEmptyString.check(Schema.isMaxLength(512))),
      mediaResolution: optional(Schema.NonEmptyString.check(Schema.isMaxLength(64))),
    }),
  ),
  /** https://openrouter.ai/docs/features/provider-routing */
  openrouter: optional(Schema.Struct({ provider: optional(Schema.JsonObject) })),
  groq: optional(
    Schema.Struct({
      reasoningFormat: optional(Schema.Literals(["parsed", "raw", "hidden"])),
      searchSettings: optional(Schema.JsonObject),
    }),
  ),
})
export type VendorOptions = typeof VendorOptions.Type

export const ExtraParams = Schema.Struct({
  /** Vendors repeat an answer as far as they can. */
  seed: optional(Schema.Int),
  frequencyPenalty: optional(Schema.Finite.check(between(-2, 2))),
  presencePenalty: optional(Schema.Finite.check(between(-2, 2))),
  topK: optional(Schema.Int.check(between(1, 1_000_000))),
  minP: optional(Schema.Finite.check(between(0, 1))),
  /** Whether text comes with the logarithms of its tokens' probabilities, and the number of alternatives of each. */
  logprobs: optional(Schema.Int.check(between(0, 20))),
  /** Biases by the number of a token in the vendor's own vocabulary. */
  logitBias: optional(
    Schema.Record(
      Schema.String.check(Schema.isPattern(/^\d{1,9}$/, { expected: "the number of a token, such as 50256" })),
      Schema.Finite.check(between(-100, 100)),
    ).check(Schema.isMaxProperties(1024)),
  ),
  /** The length of the answer. */
  verbosity: optional(Schema.Literals(["low", "medium", "high"])),
  /** The service tier, at the price's factor for it; a tier without a factor is refused. */
  serviceTier: optional(ServiceTier),
  /** The expected text of most of the answer, e.g. a file that is edited. */
  prediction: optional(Schema.String),
  /** Numbers of tokens that end an answer. */
  stopTokens: optional(Schema.Array(Schema.Int.check(between(0, 10_000_000))).check(Schema.isMaxLength(64))),
  /** Replies to one prompt, each billed. */
  n: optional(Schema.Int.check(between(1, mostReplies))),
  vendorOptions: optional(VendorOptions),
})
export type ExtraParams = typeof ExtraParams.Type

/** The parameters that a vendor gets or not; options of a vendor are no parameter of others. */
export const extraNames = [
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "topK",
  "minP",
  "logprobs",
  "logitBias",
  "verbosity",
  "serviceTier",
  "prediction",
  "stopTokens",
  "n",
] as const satisfies ReadonlyArray<keyof ExtraParams>
export type ExtraName = (typeof extraNames)[number]

/** One token of a text, as its vendor split it. */
const Reckoned = {
  token: Schema.String,
  /** The natural logarithm of its probability. */
  logprob: Schema.Finite,
  /** Its bytes in UTF-8, if a token is no whole character. */
  bytes: optional(Schema.NullOr(Schema.Array(Schema.Int))),
}
export const TokenLogprob = Schema.Struct({
  ...Reckoned,
  /** The most probable tokens at its position. */
  top: Schema.Array(Schema.Struct(Reckoned)),
})
export type TokenLogprob = typeof TokenLogprob.Type
