/** Models: their targets, their parameters and their limits. */
import { Schema } from "effect"
import { ModelReplyCache } from "../control/reply-cache.ts"
import { ModelKind } from "../kinds/call-kind.ts"
import { TokenLimit } from "../values/bounds.ts"
import { ModelTag } from "./limits.ts"
import { TimeoutsOfPlace } from "./timeouts.ts"
import { Id, Int, Positive } from "./values.ts"
import { BatchRunner } from "./vendor.ts"

const Range = Schema.Struct({
  default: Schema.optionalKey(Schema.Finite),
  min: Schema.optionalKey(Schema.Finite),
  max: Schema.optionalKey(Schema.Finite),
  /** Never send this parameter to the vendor. */
  strip: Schema.optionalKey(Schema.Boolean),
})

/** Whether the vendor never gets the parameter. */
const Strip = Schema.Struct({ strip: Schema.Boolean })

/** How the server strips or clamps the caller's parameters. */
export const ParamsProfile = Schema.Struct({
  maxTokens: Schema.optionalKey(
    Schema.Struct({ default: Schema.optionalKey(TokenLimit), max: Schema.optionalKey(TokenLimit) }),
  ),
  temperature: Schema.optionalKey(Range),
  topP: Schema.optionalKey(Range),
  stop: Schema.optionalKey(Strip),
  reasoning: Schema.optionalKey(Strip),
  frequencyPenalty: Schema.optionalKey(Range),
  presencePenalty: Schema.optionalKey(Range),
  topK: Schema.optionalKey(Range),
  minP: Schema.optionalKey(Range),
  logprobs: Schema.optionalKey(Range),
  n: Schema.optionalKey(Range),
  seed: Schema.optionalKey(Strip),
  logitBias: Schema.optionalKey(Strip),
  verbosity: Schema.optionalKey(Strip),
  serviceTier: Schema.optionalKey(Strip),
  prediction: Schema.optionalKey(Strip),
  stopTokens: Schema.optionalKey(Strip),
  /** Whether options of a vendor are removed, such as OpenRouter's choice of a provider, which the vendor may bill dearer. */
  vendorOptions: Schema.optionalKey(Strip),
})
export type ParamsProfile = typeof ParamsProfile.Type

export const Capability = Schema.Literals(["tools", "images", "files", "videos", "audio", "reasoning", "cache"])
export type Capability = typeof Capability.Type

export const Target = Schema.Struct({
  /** The id of the vendor. */
  vendor: Id,
  /** The vendor's name of the model. */
  model: Schema.NonEmptyString,
  /**
   * The model as its maker names it, e.g. `gpt-image-1`, if `model` is a name that the operator chose: a deployment or an
   * endpoint.
   */
  family: Schema.optionalKey(Schema.NonEmptyString),
  /** The number of texts that the vendor embeds in one call, if it is smaller than its profile says. */
  maxInputs: Schema.optionalKey(Positive),
  /** The order of failover, the lowest first; 0 if absent. */
  tier: Schema.optionalKey(Int),
  /** The share within its tier; 0 takes it out of rotation, 1 if absent. */
  weight: Schema.optionalKey(Int),
  /** The runner of batches: the vendor's own API of batches, or the gateway; as the vendor states if absent. */
  batch: Schema.optionalKey(BatchRunner),
})
export type Target = typeof Target.Type

export const Model = Schema.Struct({
  /** The name that callers use. */
  handle: Id,
  /** The kind of call that the model is for; `chat` if absent. */
  kind: Schema.optionalKey(ModelKind),
  /** `direct` models are called by clients themselves, and never by Weir; `platform` if absent. */
  mode: Schema.optionalKey(Schema.Literals(["platform", "direct"])),
  /**
   * Tokens of input and output together. Text that is counted at more than four times as many is refused before a vendor is
   * called.
   */
  contextWindow: Schema.optionalKey(TokenLimit),
  /**
   * The factor by which a vendor's counts may exceed the context window or the tokens asked for, 2 if absent. Counts beyond
   * that are not believed: usage is estimated.
   */
  usageMargin: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
  /** The maximum of tokens that a reply may have. */
  maxOutput: Schema.optionalKey(TokenLimit),
  /** Names for kinds of models, by which lists of models have them: `tag:cheap`. */
  tags: Schema.optionalKey(Schema.Array(ModelTag).check(Schema.isMaxLength(16))),
  /**
   * The tokens of a usual reply, by which rates of tokens estimate a call; if absent, twice the median of the replies that this node has
   * seen lately, or the limit of the output.
   */
  usualOutput: Schema.optionalKey(TokenLimit),
  /** The abilities of the model; a request that needs another one is refused. */
  capabilities: Schema.optionalKey(Schema.Array(Capability)),
  /** How parameters are clamped (`min`, `max`, `default`) or removed (`strip: true`). */
  params: Schema.optionalKey(ParamsProfile),
  timeouts: Schema.optionalKey(TimeoutsOfPlace),
  /** The time for which replies are kept and given again to equal requests, at most 24h; nothing is kept if absent. */
  replyCache: Schema.optionalKey(ModelReplyCache),
  /** Whether the next target is asked too if a target refuses a request for its content, such as a parameter. */
  tryNext: Schema.optionalKey(Schema.Boolean),
  /** In failover order. A model of mode `direct` is never called by Weir and needs none. */
  targets: Schema.optionalKey(Schema.Array(Target)),
}).check(
  Schema.makeFilter(({ mode, targets }: { readonly mode?: string; readonly targets?: ReadonlyArray<unknown> }) =>
    mode === "direct" || (targets !== undefined && targets.length > 0)
      ? undefined
      : { path: ["targets"], issue: "at least one target is required" },
  ),
)
export type Model = typeof Model.Type
