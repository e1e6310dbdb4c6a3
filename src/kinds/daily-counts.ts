/** The daily counts of a kind of call: of the organisation, and of each of its end users. */
import type { DailyCount } from "../admission/gate.ts"
import { type Caller, type CallerIds, endUserName } from "../identity/caller.ts"
import type { Plan } from "../protocol/catalogue/plan.ts"

const limits = {
  websearch: ["websearchDaily", "endUserWebsearchDaily"],
  imagegen: ["imagegenDaily", "endUserImagegenDaily"],
  tts: ["ttsDaily", "endUserTtsDaily"],
  asr: ["asrDaily", "endUserAsrDaily"],
  videogen: ["videogenDaily", "endUserVideogenDaily"],
} as const satisfies Record<string, readonly [keyof Plan, keyof Plan]>

type Counted = Pick<Caller, "plan"> & Pick<CallerIds, "app" | "endUserId">

/** One call counts once, for any number of results. */
export const dailyCountsOf =
  (counted: keyof typeof limits) =>
  ({ plan, app, endUserId }: Counted, day: string): ReadonlyArray<DailyCount> => {
    const [daily, endUserDaily] = limits[counted]
    const code = `${counted}_quota_exceeded` as const
    const counts: Array<DailyCount> = []
    const ofOrg = plan?.[daily]
    const ofEndUser = plan?.[endUserDaily]
    if (ofOrg !== undefined) counts.push({ bucket: counted, limit: ofOrg, day, code })
    if (endUserId !== undefined && ofEndUser !== undefined)
      counts.push({ bucket: `${counted}:${endUserName(app, endUserId)}`, limit: ofEndUser, day, code })
    return counts
  }
