/** Models: their targets, their parameters and their limits. */
import { Schema } from "effect"
import { ModelReplyCache } from "../control/reply-cache.ts"
import { ModelKind } from "../kinds/call-kind.ts"
import { TokenLimit } from "../values/bounds.ts"
import { TimeoutsOfPlace } from "./timeouts.ts"
import { Id, Int, optional, Positive } from "./values.ts"

const Range = Schema.Struct({
  default: optional(Schema.Finite),
  min: optional(Schema.Finite),
  max: optional(Schema.Finite),
  /** Never send this parameter to the vendor. */
  strip: optional(Schema.Boolean),
})

/** Whether the vendor never gets it. */
const Strip = Schema.Struct({ strip: Schema.Boolean })

/** How the server strips or clamps the caller's parameters. */
export const ParamsProfile = Schema.Struct({
  maxTokens: optional(Schema.Struct({ default: optional(TokenLimit), max: optional(TokenLimit) })),
  temperature: optional(Range),
  topP: optional(Range),
  stop: optional(Strip),
  reasoning: optional(Strip),
  frequencyPenalty: optional(Range),
  presencePenalty: optional(Range),
  topK: optional(Range),
  minP: optional(Range),
  logprobs: optional(Range),
  n: optional(Range),
  seed: optional(Strip),
  logitBias: optional(Strip),
  verbosity: optional(Strip),
  serviceTier: optional(Strip),
  prediction: optional(Strip),
  stopTokens: optional(Strip),
  /** Such as OpenRouter's choice of a provider, which the vendor may bill dearer. */
  vendorOptions: optional(Strip),
})
export type ParamsProfile = typeof ParamsProfile.Type

export const Capability = Schema.Literals(["tools", "images", "files", "videos", "audio", "reasoning", "cache"])
export type Capability = typeof Capability.Type

export const Target = Schema.Struct({
  vendor: Id,
  model: Schema.NonEmptyString,
  /** The model as its maker names it, e.g. `gpt-image-1`, where `model` is a name of the operator's: a deployment or an endpoint. */
  family: optional(Schema.NonEmptyString),
  /** Texts that the vendor embeds at once, where it takes fewer than its profile says. */
  maxInputs: optional(Positive),
  tier: optional(Int),
  weight: optional(Int),
})
export type Target = typeof Target.Type

export const Model = Schema.Struct({
  handle: Id,
  /** What it is called for; `chat` if absent. */
  kind: optional(ModelKind),
  mode: optional(Schema.Literals(["platform", "direct"])),
  contextWindow: optional(TokenLimit),
  /**
   * How far a vendor's counts may exceed the context window or the tokens asked for, as a factor, 2 if absent;
   * counts beyond are not believed but estimated.
   */
  usageMargin: optional(Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
  maxOutput: optional(TokenLimit),
  capabilities: optional(Schema.Array(Capability)),
  params: optional(ParamsProfile),
  timeouts: optional(TimeoutsOfPlace),
  /** For how long replies are kept and given again to equal requests, at most 24h; not at all if absent. */
  replyCache: optional(ModelReplyCache),
  /** Whether the next target is asked too if one refuses a request for what it has, such as a parameter. */
  tryNext: optional(Schema.Boolean),
  /** In failover order. A model of mode `direct` is never called by Weir and needs none. */
  targets: optional(Schema.Array(Target)),
}).check(
  Schema.makeFilter(({ mode, targets }: { readonly mode?: string; readonly targets?: ReadonlyArray<unknown> }) =>
    mode === "direct" || (targets !== undefined && targets.length > 0)
      ? undefined
      : { path: ["targets"], issue: "at least one target is required" },
  ),
)
export type Model = typeof Model.Type
