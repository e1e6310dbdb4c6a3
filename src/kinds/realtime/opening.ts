/** The first message of a session, in APIs that have one: it is reviewed and counted before the vendor is called. */
import { Effect } from "effect"
import { reviewAboutOf } from "../../calls/review-about.ts"
import type { CallServices } from "../../calls/services.ts"
import { noteDenial } from "../../calls/settle/report.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Added, SessionLimits } from "../../dialects/realtime-dialect.ts"
import { maskBody } from "../../policies/masks/mask-request.ts"
import { linesOf } from "../../policies/parts.ts"
import { contentBlocked } from "../../policies/review.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { SessionMasks } from "./client-side.ts"
import type { Resumed } from "./handles.ts"
import { withoutMasks } from "./inbound-policies.ts"
import { type RealtimePlan, transcriptUnits } from "./plan.ts"
import type { SessionMoney } from "./session-money.ts"
import type { SessionOptions } from "./session-options.ts"

export interface Opening {
  /** JSON, without the names of the model and of the conversation. */
  readonly body: string
  readonly added: Added
  readonly maxOutTokens: number | undefined
  /** The reason why a session with these limits does not allow it. */
  readonly refusal: (limits: SessionLimits) => ServiceError<"bad_request"> | undefined
  /** The message for a target. @param body as it was reviewed */
  readonly messageFor: (body: string, target: CallTarget, handle: string | undefined) => string
  /** The conversation that it resumes; undefined if it begins one. */
  readonly resumed: Resumed | undefined
}

/** The plan of a session that begins with it: only one target knows a conversation. */
export const planOf = (
  plan: RealtimePlan,
  { refusal, resumed }: Opening,
): Effect.Effect<RealtimePlan, ServiceError<"bad_request">> => {
  const { maxOutTokens, hasTools } = plan
  const refused = refusal({ models: [], maxOutTokens, hasTools, transcriptUnits: transcriptUnits(plan) })
  if (refused !== undefined) return Effect.fail(refused)
  if (resumed === undefined) return Effect.succeed(plan)
  const targets = plan.targets.filter(({ vendor, model }) => vendor.id === resumed.vendor && model === resumed.model)
  return targets.length === 0
    ? Effect.fail(serviceError("bad_request", "The conversation cannot be resumed with this model"))
    : Effect.succeed({ ...plan, targets })
}

/** Reviews and counts the message. @returns the message for a target */
export const reviewOpening = Effect.fnUntraced(function* (
  services: CallServices,
  { caller, requestId, plan }: Pick<SessionOptions, "caller" | "requestId" | "plan">,
  { body, added, maxOutTokens, messageFor, resumed }: Opening,
  money: SessionMoney,
  masks: SessionMasks | undefined,
): Effect.fn.Return<(target: CallTarget) => string, ServiceError | StoreUnavailable> {
  const { inbound } = caller.policies
  if (inbound.length > 0 && added.texts.length > 0) {
    const about = reviewAboutOf(services, caller)
    const verdict = yield* services.review.judge(withoutMasks(inbound), "request", linesOf(added.texts), about)
    money.found.push(...verdict.hits)
    if (verdict.refusal !== undefined) return yield* verdict.refusal
    if (verdict.denial !== undefined) {
      noteDenial(services.denials, { caller, requestId, model: plan.handle }, verdict.denial, "request")
      return yield* contentBlocked(verdict.denial)
    }
  }
  const masked = masks && maskBody(Buffer.from(body), masks.masking, masks.marks)
  money.found.push(...(masked?.masked?.hits ?? []))
  if (resumed !== undefined) money.meter.resumed(resumed.tokens)
  money.meter.add(added)
  if (maxOutTokens !== undefined) money.maxOutTokens = Math.min(maxOutTokens, plan.maxOutTokens)
  const sent = masked === undefined ? body : Buffer.from(masked.body).toString("utf8")
  return (target) => messageFor(sent, target, resumed?.handle)
})
