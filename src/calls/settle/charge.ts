/** The charge for a hold, and its settlement with the usage record: of a call, and of a response of a session. */
import type { Effect } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Charge, Counts } from "../../money/pricing.ts"
import type { Settlement } from "../../money/settlement.ts"
import type { SettleResult } from "../../money/settler.ts"
import type { UsageRecord } from "../../money/usage-record.ts"
import type { PolicyHit } from "../../protocol/control/usage-record.ts"
import { type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import { mostTokens } from "../../protocol/values/bounds.ts"
import type { CallServices } from "../services.ts"
import type { Reserved } from "./reserve.ts"

/** The charge of a call with the organisation's own key: the vendor bills the organisation. */
export const free: Charge = { cost: 0n, cacheNetSaving: 0n }

/** The amounts of a settlement, and the caller in its usage record. */
export interface Charged
  extends Pick<Settlement, "hold" | "atMs" | "job">,
    Omit<UsageRecord, "appId" | "tags" | "batchId" | "policies" | "vendor" | "tierMs" | "cacheNetSaving"> {
  readonly caller: Caller
  /** The target that was called; undefined if no vendor was asked. */
  readonly target: CallTarget | undefined
  /** Milliseconds that the timeout tiers took. */
  readonly took: Partial<Record<Tier, number>>
  readonly charge: Charge
  /** Matches of content policies so far. */
  readonly hits?: ReadonlyArray<PolicyHit>
}

export const settlementOf = (charged: Charged): Settlement => {
  const { hold, caller, target, charge, atMs, job, took, hits = [], ...known } = charged
  const record = {
    ...known,
    counts: storable(known.counts),
    appId: caller.app?.id ?? "",
    tags: caller.tags,
    batchId: caller.batch?.id,
    policies: hits.length === 0 ? undefined : hits,
    vendor: target?.vendor.id ?? "",
    tierMs: rounded(took),
    cacheNetSaving: charge.cacheNetSaving,
  }
  return { hold, atMs, cost: charge.cost, record, ...(job !== undefined && { job }) }
}

/** Counts as the books can store them: one that cannot be stored would keep others of its batch from being stored. */
const storable = (counts: Counts): Counts => {
  const { inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims } = counts
  const all = [inTokens, outTokens, cacheReadTokens, cacheWriteTokens, ...Object.values(dims)]
  if (all.every(isStorable)) return counts
  return {
    inTokens: storableCount(inTokens),
    outTokens: storableCount(outTokens),
    cacheReadTokens: storableCount(cacheReadTokens),
    cacheWriteTokens: storableCount(cacheWriteTokens),
    dims: Object.fromEntries(Object.entries(dims).map(([name, count]) => [name, storableCount(count)])),
  }
}

const isStorable = (count: number): boolean => storableCount(count) === count
const storableCount = (count: number): number => (count > 0 ? Math.min(Math.trunc(count), mostTokens) : 0)

/** A column of milliseconds has 32 bits. */
const mostMillis = 2 ** 31 - 1

const rounded = (took: Partial<Record<Tier, number>>): Partial<Record<Tier, number>> => {
  const whole: Partial<Record<Tier, number>> = {}
  for (const tier of tiers) {
    const millis = took[tier]
    if (millis !== undefined) whole[tier] = Math.min(Math.max(1, Math.round(millis)), mostMillis)
  }
  return whole
}

/**
 * Settles, and checks the balance and the budgets once the books have it.
 * @param late the settlement if the database does not answer now
 */
export const settleCharge = (
  { settler, balanceWarnings, budgetWarnings }: Pick<CallServices, "settler" | "balanceWarnings" | "budgetWarnings">,
  { org }: Caller,
  covering: Reserved["covering"],
  settlement: Settlement,
  late?: () => Settlement,
): Effect.Effect<SettleResult> => {
  const booked = () => {
    balanceWarnings.charged(org)
    budgetWarnings.charged(org.id, org.currency, covering)
  }
  return settler.settle(settlement, { late, booked })
}
