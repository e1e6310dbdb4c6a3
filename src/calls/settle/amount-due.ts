/** The amount that a call owes at this moment: its bill, its charge, and the settlement made of them. */
import type { Amount } from "../../money/amount.ts"
import type { Charge } from "../../money/pricing.ts"
import type { Settlement } from "../../money/settlement.ts"
import type { PolicyHit } from "../../protocol/control/usage-record.ts"
import type { Stop } from "../../protocol/exchange.ts"
import type { HeldCall } from "../held-call.ts"
import type { Bill } from "./bill.ts"
import { cachedCharge, recordedCounts } from "./cached-bill.ts"
import { free, settlementOf } from "./charge.ts"
import type { BrokenReason } from "./outcome.ts"

export interface AmountDue {
  readonly bill: Bill
  /** The charge, as the client sees it. */
  readonly charge: Charge
  readonly settlement: Settlement
  /** The amount that the reply cache saved. */
  readonly saved: Amount | undefined
}

/** The settlement of the call at this moment; undefined if nothing is billed. */
export const amountDue = <Body extends object>(
  { call, hold, meta, kind, task, conversation, services, caching, hits, review }: HeldCall<Body>,
  broken: BrokenReason | undefined,
  stop: Stop,
): AmountDue | undefined => {
  const { target, took } = conversation
  const given = caching?.state === "hit" ? caching : undefined
  const bill = task.bill(broken)
  // A reply from the cache is billed only if it is complete.
  if (bill === undefined || (given !== undefined && broken !== undefined)) return undefined
  const isOwn = given === undefined ? target?.isOwn === true : given.flight.facts?.isOwn === true
  const full = isOwn ? free : task.charge(bill)
  const cached = given && cachedCharge(full, task.cacheableReply?.share ?? 0n)
  const charge = cached === undefined ? full : { ...full, cost: cached.cost }
  const settlement = settlementOf({
    hold,
    caller: call.caller,
    sessionId: meta?.sessionId,
    purpose: meta?.purpose ?? kind.purpose,
    model: task.model,
    target,
    counts: recordedCounts(bill.counts, caching),
    estimatedReason: bill.estimatedReason,
    stop,
    took,
    charge: cached === undefined ? full : { cost: cached.cost, cacheNetSaving: cached.saved },
    region: bill.region ?? conversation.region,
    atMs: services.nowMs(),
    job: task.job?.(),
    hits: hitsOf({ hits, review }),
  })
  return { bill, charge, settlement, saved: cached?.saved }
}

/** Matches of policies in the request and the reply, one for each policy, place and consequence. */
export const hitsOf = ({ hits, review }: Pick<HeldCall<never>, "hits" | "review">): ReadonlyArray<PolicyHit> =>
  summed([...hits, ...(review?.hits ?? [])])

/** Matches, one for each policy, place and consequence. */
export const summed = (all: ReadonlyArray<PolicyHit>): ReadonlyArray<PolicyHit> => {
  if (all.length < 2) return all
  const summed = new Map<string, PolicyHit>()
  for (const hit of all) {
    const name = `${hit.at} ${hit.did} ${hit.policy}`
    const known = summed.get(name)
    summed.set(name, known === undefined ? hit : { ...known, count: known.count + hit.count })
  }
  return [...summed.values()]
}

/** Whether a reply from the cache costs nothing, and there is no request id that its settlement would spend. */
export const isFree = <Body extends object>(
  { caching, registration }: HeldCall<Body>,
  { charge }: AmountDue,
): boolean => caching?.state === "hit" && charge.cost === 0n && registration === undefined
