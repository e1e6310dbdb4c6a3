/** The settlement of an exchange: its bill, priced. Pure. */
import type { Waiting } from "../admission/overload.ts"
import type { ModelTarget } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import { type Charge, priceUsage } from "../money/pricing.ts"
import type { HoldFacts, Settlement } from "../money/settlement.ts"
import type { ExchangeRequest, Stop } from "../protocol/exchange.ts"
import { type Tier, tiers } from "../protocol/timeout-tiers.ts"
import { type Bill, type Estimated, makeBill } from "./bill.ts"
import type { Conversation } from "./conversation.ts"
import type { BrokenReason } from "./ending.ts"
import { tokensOfBytes } from "./estimate.ts"
import type { Plan } from "./plan.ts"
import type { Tally } from "./tally.ts"

export interface ExchangeCall {
  /** The gateway's own request id. */
  readonly requestId: string
  readonly caller: Caller
  readonly body: Uint8Array
  /** Notified when the hold is made. */
  readonly waiting: Waiting
}

export interface Due {
  readonly bill: Bill
  readonly charge: Charge
  readonly settlement: Settlement
}

export interface DueOptions {
  readonly call: ExchangeCall
  readonly hold: HoldFacts
  /** When the exchange ended. */
  readonly atMs: number
  readonly request: ExchangeRequest
  readonly plan: Plan
  readonly target: ModelTarget | undefined
  readonly took: Conversation["took"]
  readonly seen: Tally
  readonly broken: BrokenReason | undefined
  readonly stop: Stop
  /** An exact count if the vendor reported none; if absent, an estimate by bytes. */
  readonly estimated: Estimated | undefined
}

/** Undefined if nothing is billed. */
export const dueOf = (options: DueOptions): Due | undefined => {
  const { call, hold, atMs, request, plan, target, took, seen, broken, stop } = options
  const rough = { promptTokens: plan.promptTokens, outTokens: tokensOfBytes(seen.outputBytes) }
  const bill = makeBill(seen, broken, options.estimated ?? rough, plan.usageLimits)
  if (bill === undefined) return undefined
  const charge = target?.isOwn === true ? free : priceUsage(plan.price, bill.counts)
  return {
    bill,
    charge,
    settlement: {
      hold,
      atMs,
      cost: charge.cost,
      record: {
        appId: call.caller.app?.id ?? "",
        sessionId: request.meta?.sessionId,
        purpose: request.meta?.purpose ?? "exchange",
        model: request.model,
        vendor: target?.vendor.id ?? "",
        counts: bill.counts,
        tierMs: rounded(took),
        estimatedReason: bill.estimatedReason,
        stop,
        cacheNetSaving: charge.cacheNetSaving,
      },
    },
  }
}

const rounded = (took: Conversation["took"]): Conversation["took"] => {
  const whole: Partial<Record<Tier, number>> = {}
  for (const tier of tiers) {
    const millis = took[tier]
    if (millis !== undefined) whole[tier] = Math.max(1, Math.round(millis))
  }
  return whole
}

/** With the organisation's own key, the vendor bills the organisation. */
const free: Charge = { cost: 0n, cacheNetSaving: 0n }
