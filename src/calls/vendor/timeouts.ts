/** The timeouts in force for a target, computed once for each revision of the catalogue. */
import type { Context } from "effect"
import type { CallTarget, CatalogueSnapshot, ModelEntry } from "../../catalogue/snapshot.ts"
import type { WeirConfig } from "../../config.ts"
import { millisOfTiers, resolveTimeouts, type Timeouts } from "../../protocol/timeout-tiers.ts"
import { recordTierLimits } from "../../telemetry/metrics.ts"

export type TimeoutsOf = (snapshot: CatalogueSnapshot, target: CallTarget, entry?: ModelEntry) => Timeouts

export const makeTimeouts = (
  { env, upstreamTimeouts }: Pick<WeirConfig["Service"], "env" | "upstreamTimeouts">,
  context: Context.Context<never>,
): TimeoutsOf => {
  const known = new WeakMap<CallTarget, Timeouts>()
  return (snapshot, target, entry) => {
    const seen = known.get(target)
    if (seen !== undefined) return seen
    const inForce = resolveTimeouts({
      environment: env,
      variables: upstreamTimeouts,
      model: entry?.model.timeouts,
      vendor: target.vendor.timeouts,
      platform: snapshot.document.timeouts,
    })
    recordTierLimits(context, target, inForce)
    const timeouts = millisOfTiers(inForce)
    known.set(target, timeouts)
    return timeouts
  }
}
