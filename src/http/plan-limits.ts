/** The plan of an organisation, and its limits. */
import { Effect } from "effect"
import { AppTokens } from "../admission/app-tokens.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { Org } from "../protocol/catalogue/tenant.ts"
import type { PlanLimits } from "../protocol/control/plan-usage.ts"

export const makePlanLimits = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const appTokens = yield* AppTokens
  return Effect.fnUntraced(function* (org: Pick<Org, "id" | "plan">) {
    const plan = org.plan === undefined ? undefined : catalogue.current().plan(org.plan)
    if (plan === undefined) return {} satisfies PlanLimits
    const { id, concurrency, perMinute, dailyTokens, maxFiles, maxFilesBytes, testTier } = plan
    const endUsers = testTier === true ? yield* appTokens.endUsers(org.id) : undefined
    return {
      plan: id,
      ...(concurrency !== undefined && { concurrency }),
      ...(perMinute !== undefined && { perMinute }),
      ...(dailyTokens !== undefined && { dailyTokens }),
      ...(maxFiles !== undefined && { maxFiles }),
      ...(maxFilesBytes !== undefined && { maxFilesBytes }),
      ...(endUsers !== undefined && { endUsers }),
    } satisfies PlanLimits
  })
})
