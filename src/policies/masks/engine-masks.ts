/**
 * Masks by engines: an engine finds the values in a request, and rules for these values mask them wherever they occur. An
 * engine gets the request with the marks of the other masks.
 */
import { Context, Effect, Layer, type Redacted, Result } from "effect"
import { WeirConfig } from "../../config.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { recordPolicyHits, recordReview } from "../../telemetry/metrics.ts"
import { PolicyDenials, type PolicyDenied } from "../denials.ts"
import { EngineFailed } from "../engines/engine.ts"
import type { EngineAccount } from "../engines/engine-price.ts"
import { logNoVerdict, PolicyEngines } from "../engines/engines.ts"
import type { EngineCheck, ReviewPolicy } from "../policy.ts"
import { contentBlocked, type PolicyHit, unavailable } from "../review.ts"
import { markKey } from "./marks.ts"
import { type MaskableText, type MaskedCaller, type Masking, maskingOf } from "./mask-request.ts"
import { valueMasks } from "./value-masks.ts"

export class RequestMasks extends Context.Service<
  RequestMasks,
  {
    /** The masks by rules for a caller's requests; undefined if there are none. */
    readonly byRules: (caller: MaskedCaller) => Masking | undefined
    /** Whether engines mask the requests of a caller. */
    readonly areAsked: (caller: MaskedCaller) => boolean
    /**
     * The same masks, and those for the values that engines find in a request.
     * @param texts of the request, with the marks of the other masks
     * @error content_blocked if an engine that must answer does not; or the refusal of the hold of its price
     */
    readonly byEngines: (
      caller: AskingCaller,
      requestId: string,
      texts: ReadonlyArray<MaskableText>,
      account: EngineAccount,
    ) => Effect.Effect<Masking | undefined, ServiceError | StoreUnavailable>
  }
>()("weir/policies/RequestMasks") {
  static readonly layer = Layer.effect(
    RequestMasks,
    Effect.gen(function* () {
      const engines = yield* PolicyEngines
      const { masterKey } = yield* WeirConfig
      const denials = yield* PolicyDenials
      const services = yield* Effect.context<never>()

      /** The values that an engine finds; a hit if it has no verdict and may fail. */
      const foundBy = (
        policy: EngineMask,
        { text, account }: { readonly text: string; readonly account: EngineAccount },
        denied: () => PolicyDenied,
      ): Effect.Effect<ReadonlyArray<ReviewPolicy> | PolicyHit, ServiceError | StoreUnavailable> =>
        engines.find(policy, { text, direction: "inbound", account }).pipe(
          Effect.flatMap((spans) => {
            const { kind } = policy.check.engine
            const made = Result.mapError(
              valueMasks(policy, text, spans),
              () => new EngineFailed({ kind, reason: "malformed" }),
            )
            return Effect.fromResult(made)
          }),
          Effect.catch(
            Effect.fnUntraced(function* (failure) {
              const { id, onFailure } = policy
              yield* logNoVerdict(policy, failure)
              const hit: PolicyHit = { policy: id, at: "request", count: 0, did: "failed" }
              recordReview(services, "review", "failed")
              if (onFailure === "allow" && failure.refusal === undefined) return hit
              // The call ends here: nothing else counts the hit.
              recordPolicyHits(services, [hit])
              if (failure.refusal !== undefined) return yield* failure.refusal
              recordReview(services, "review", "denied")
              denials.note(denied())
              return yield* contentBlocked({ policy: id, reason: unavailable })
            }),
          ),
        )

      return RequestMasks.of({
        byRules: (caller) => maskingOf(caller, masterKey),
        areAsked: ({ policies }) => policies.inbound.some(isEngineMask),
        byEngines: (caller, requestId, texts, account) =>
          Effect.map(
            Effect.forEach(caller.policies.inbound.filter(isEngineMask), (policy) => {
              const text = texts.flatMap((each) => (policy.parts.has(each.part) ? [each.text] : [])).join("\n")
              const denied = () => ({ ...denialOf(caller), policy: policy.id, requestId })
              return foundBy(policy, { text, account }, denied)
            }),
            (made) => withMasks(maskingOf(caller, masterKey), made, caller, masterKey),
          ),
      })
    }),
  )
}

interface EngineMask extends ReviewPolicy {
  readonly check: EngineCheck
}

const isEngineMask = (policy: ReviewPolicy): policy is EngineMask =>
  policy.action === "mask" && policy.check.kind === "engine"

/** A caller, as the event of a denial has it. */
export interface AskingCaller extends MaskedCaller {
  readonly keyId: string
  readonly app?: { readonly id: string } | undefined
  readonly tags?: PolicyDenied["tags"]
}

/** Its model is not known here. */
const denialOf = ({ org, app, keyId, tags }: AskingCaller) =>
  ({ orgId: org.id, appId: app?.id, keyId, tags, reason: unavailable, at: "request", model: "unknown" }) as const

const withMasks = (
  masking: Masking | undefined,
  made: ReadonlyArray<ReadonlyArray<ReviewPolicy> | PolicyHit>,
  { org }: MaskedCaller,
  masterKey: Redacted.Redacted | undefined,
): Masking | undefined => {
  const masks = made.flatMap((each) => ("policy" in each ? [] : each))
  const missing = made.flatMap((each) => ("policy" in each ? [each] : []))
  if (masks.length === 0 && missing.length === 0) return masking
  const { key = markKey(masterKey, org.id), policies = [] } = masking ?? {}
  return { key, policies: [...policies, ...masks], missing }
}
