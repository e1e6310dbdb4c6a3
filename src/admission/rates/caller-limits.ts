/**
 * The limits of a caller: those of its plan, its application's `quota.rpm`, and those that are set at its organisation, teams, person,
 * application, key and end user. Pure.
 */
import { type Caller, endUserName } from "../../identity/caller.ts"
import type { Rate } from "../../protocol/catalogue/limits.ts"
import { type LimitedSubject, namesModel } from "../../tenants/subject-limits.ts"
import type { AdmitRequest, Limited, RateWindow, SlotLimit } from "../gate.ts"

/** The parts of a request that limits depend on. */
export interface Demand {
  /** Undefined if its kind has no models. */
  readonly model: { readonly handle: string; readonly tags?: ReadonlyArray<string> } | undefined
  /** An estimate of its tokens, counted by rates of tokens until it has ended. */
  readonly tokens: number
  /** Whether it is one of the calls at a time. */
  readonly runs: boolean
}

/** A request that runs nothing, such as one that mints a token. */
export const noDemand: Demand = { model: undefined, tokens: 0, runs: false }

/** The admission of such a request, which counts in its caller's rates. */
export const plainRequest = (caller: Caller): AdmitRequest => ({
  ...callerLimits(caller, noDemand),
  keyId: caller.keyId,
})

const minuteMs = 60_000

export const callerLimits = (caller: Caller, demand: Demand): Limited => {
  const { org, limits } = caller
  const rates = planRates(caller)
  if (limits === undefined || limits.length === 0) return { owner: org.id, rates }
  const slots: Array<SlotLimit> = []
  for (const subject of limits) {
    for (const rate of subject.rates ?? none) {
      if (rate.model !== undefined && (demand.model === undefined || !namesModel(rate.model, demand.model))) continue
      if ("concurrent" in rate) {
        if (demand.runs) slots.push({ bucket: bucketOf(subject, rate), limit: rate.concurrent, scope: subject.scope })
      } else {
        rates.push(windowOf(subject, rate, demand))
      }
    }
  }
  return slots.length === 0 ? { owner: org.id, rates } : { owner: org.id, rates, slots }
}

const none: ReadonlyArray<never> = []

/** The windows of the contract: of the key, the application and the end user. */
const planRates = ({ keyId, app, plan, endUserId }: Caller): Array<RateWindow> => {
  const windows: Array<RateWindow> = []
  const keyLimit = plan?.perMinute
  if (keyLimit !== undefined) windows.push({ bucket: `key:${keyId}`, limit: keyLimit, windowMs: minuteMs })
  const appLimit = app?.quota?.rpm
  if (appLimit !== undefined) {
    windows.push({ bucket: `app:${app?.id}`, limit: appLimit, scope: "app", windowMs: minuteMs })
  }
  const userLimit = plan?.endUserPerMinute
  if (endUserId !== undefined && userLimit !== undefined) {
    const bucket = `endUser:${endUserName(app, endUserId)}`
    windows.push({ bucket, limit: userLimit, scope: "endUser", windowMs: minuteMs })
  }
  return windows
}

const windowOf = (
  subject: LimitedSubject,
  rate: Exclude<Rate, { readonly concurrent: number }>,
  { tokens }: Demand,
): RateWindow => {
  const common = { bucket: bucketOf(subject, rate), windowMs: rate.per, scope: subject.scope }
  return "requests" in rate
    ? { ...common, limit: rate.requests }
    : { ...common, limit: rate.tokens, unit: "tokens", amount: tokens, cached: rate.cached }
}

/** The counter of a rate: another limit goes on with its counts, another model or unit does not. Ids may contain anything. */
const bucketOf = ({ scope, id }: LimitedSubject, rate: Rate): string => {
  const unit = "concurrent" in rate ? "c" : "requests" in rate ? "r" : "t"
  return `${unit}:${scope}:${encodeURIComponent(id)}:${rate.model ?? ""}`
}
