/** The limits of a realtime session: it is one call at a time, and each of its responses counts in the rates. */
import { Effect } from "effect"
import type { Limited } from "../../admission/gate.ts"
import { callerLimits } from "../../admission/rates/caller-limits.ts"
import { noTokens } from "../../admission/rates/ended.ts"
import { tokensOf } from "../../calls/counted-limits.ts"
import type { CallServices } from "../../calls/services.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Counts } from "../../money/pricing.ts"
import type { RealtimePlan } from "./plan.ts"

/** The tokens of a response are known when it has ended: until then it counts one. */
const tokens = 1

export const responseLimits = (caller: Caller, { entry: { model } }: RealtimePlan): Limited =>
  callerLimits(caller, { model, tokens, runs: false })

/** Counts the tokens of a response that has ended. */
export const countResponse = (
  { gate }: Pick<CallServices, "gate">,
  caller: Caller,
  plan: RealtimePlan,
  counts: Counts,
): Effect.Effect<void> =>
  caller.limits === undefined
    ? Effect.void
    : gate.ended(responseLimits(caller, plan), { rates: [], holdsCalls: false }, tokensOf(counts))

/** Takes a call at a time for as long as a session runs. */
export const asOneCall = <A, E, R>(
  { gate }: Pick<CallServices, "gate">,
  caller: Caller,
  { entry: { model } }: RealtimePlan,
  session: Effect.Effect<A, E, R>,
) => {
  const { owner, slots } = callerLimits(caller, { model, tokens, runs: true })
  if (slots === undefined) return session
  const limited = { owner, rates: [], slots }
  return Effect.acquireUseRelease(
    gate.admit({ ...limited, keyId: caller.keyId }),
    () => session,
    (admission) =>
      admission._tag === "Admitted" && admission.counted !== undefined
        ? gate.ended(limited, admission.counted, noTokens)
        : Effect.void,
  )
}
