/** What a call owes at this moment: bill, charge, and the settlement that is made of them. */
import type { Amount } from "../money/amount.ts"
import type { Charge } from "../money/pricing.ts"
import type { Settlement } from "../money/settlement.ts"
import type { Stop } from "../protocol/exchange.ts"
import { type Tier, tiers } from "../protocol/timeout-tiers.ts"
import type { Bill } from "./bill.ts"
import { cachedCharge, recordedCounts } from "./cached-bill.ts"
import type { BrokenReason } from "./ending.ts"
import type { HeldCall } from "./held-call.ts"

export interface Due {
  readonly bill: Bill
  /** As the client is told. */
  readonly charge: Charge
  readonly settlement: Settlement
  /** What the reply cache saved. */
  readonly saved: Amount | undefined
}

/** The settlement of the call at this moment; undefined if nothing is billed. */
export const dueOf = <Body extends object>(
  { call, hold, meta, kind, task, conversation, services, caching }: HeldCall<Body>,
  broken: BrokenReason | undefined,
  stop: Stop,
): Due | undefined => {
  const { target, took } = conversation
  const given = caching?.state === "hit" ? caching : undefined
  const bill = task.bill(broken)
  // Of a reply from the cache, only the whole is billed.
  if (bill === undefined || (given !== undefined && broken !== undefined)) return undefined
  const isOwn = given === undefined ? target?.isOwn === true : given.flight.facts?.isOwn === true
  const full = isOwn ? free : task.charge(bill)
  const cached = given && cachedCharge(full, task.keepable?.share ?? 0n)
  const charge = { ...full, cost: cached?.cost ?? full.cost }
  const record = {
    appId: call.caller.app?.id ?? "",
    sessionId: meta?.sessionId,
    purpose: meta?.purpose ?? kind.purpose,
    model: task.model,
    vendor: target?.vendor.id ?? "",
    counts: recordedCounts(bill.counts, caching),
    tierMs: rounded(took),
    estimatedReason: bill.estimatedReason,
    stop,
    cacheNetSaving: cached?.saved ?? full.cacheNetSaving,
    region: bill.region ?? conversation.region,
  }
  const job = task.job?.()
  const settlement = { hold, atMs: services.nowMs(), cost: charge.cost, record, ...(job !== undefined && { job }) }
  return { bill, charge, settlement, saved: cached?.saved }
}

/** Whether a reply from the cache costs nothing, and there is no request id that its settlement would spend. */
export const isFree = <Body extends object>({ caching, registration }: HeldCall<Body>, { charge }: Due): boolean =>
  caching?.state === "hit" && charge.cost === 0n && registration === undefined

/** With the organisation's own key, the vendor bills the organisation. */
const free: Charge = { cost: 0n, cacheNetSaving: 0n }

const rounded = (took: Partial<Record<Tier, number>>): Partial<Record<Tier, number>> => {
  const whole: Partial<Record<Tier, number>> = {}
  for (const tier of tiers) {
    const millis = took[tier]
    if (millis !== undefined) whole[tier] = Math.max(1, Math.round(millis))
  }
  return whole
}
