/**
 * The account of the engines of policies: each text that an engine judges is a small call of its own, with a hold, a settlement
 * and a usage record. The hold of the call cannot carry it: requests are reviewed before that one, and streams after it.
 */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { Caller } from "../../identity/caller.ts"
import type { HoldError } from "../../money/ledger.ts"
import { noTokens } from "../../money/pricing.ts"
import { costOfUse, type EngineAccount, type EngineUse, type EngineWork } from "../../policies/engines/engine-price.ts"
import { serviceError } from "../../protocol/error.ts"
import { dayOf } from "../../protocol/values/utc8.ts"
import type { CallServices } from "../services.ts"
import { free, settleCharge, settlementOf } from "./charge.ts"
import { type Reserved, reserve } from "./reserve.ts"

type AccountServices = Pick<
  CallServices,
  "ledger" | "budgets" | "settler" | "balanceWarnings" | "budgetWarnings" | "nowMs"
>

export const engineAccountOf = (services: AccountServices, caller: Caller): EngineAccount => ({
  within: (work, ask, refused) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.mapError(hold(services, caller, work), refused), (reserved) =>
        Effect.onExit(restore(ask), () => close(services, caller, work, reserved)),
      ),
    ),
})

/** The purpose of the usage records of engines. */
export const enginePurpose = "policy"

const hold = (
  services: AccountServices,
  caller: Caller,
  { price, most }: EngineWork,
): Effect.Effect<Reserved, HoldError> => {
  const { org, keyId } = caller
  const nowMs = services.nowMs()
  const ref = `pol_${randomBytes(12).toString("base64url")}`
  if (price.paidBy === "platform") {
    const request = { ref, orgId: org.id, currency: org.currency, keyId, amount: 0n, day: dayOf(nowMs) }
    return Effect.map(services.ledger.hold(request), (made) => ({ hold: made, covering: [] }))
  }
  if (price.currency !== org.currency) return Effect.fail(unpriced)
  const amount = costOfUse(price, most)
  // The money of a batch covers its calls alone.
  const payer = { ...caller, batch: undefined }
  return reserve(services, {
    ref,
    caller: payer,
    currency: org.currency,
    amount,
    tokens: 0,
    nowMs,
    requestId: undefined,
  })
}

/** Questions without an answer cost nothing. */
const close = (
  services: AccountServices,
  caller: Caller,
  { policy, engine, price, answered }: EngineWork,
  { hold: held, covering }: Reserved,
): Effect.Effect<unknown> => {
  const use = answered()
  if (use.calls === 0) return services.settler.release(held)
  const cost = price.paidBy === "organisation" ? costOfUse(price, use) : 0n
  const { record, ...settlement } = settlementOf({
    hold: held,
    caller,
    sessionId: undefined,
    purpose: enginePurpose,
    model: `policy:${policy}`,
    target: undefined,
    counts: { ...noTokens, dims: dimsOf(use) },
    estimatedReason: undefined,
    stop: "end",
    took: {},
    charge: { ...free, cost },
    region: undefined,
    atMs: services.nowMs(),
  })
  return settleCharge(services, caller, covering, { ...settlement, record: { ...record, vendor: engine } })
}

const dimsOf = ({ calls, characters }: EngineUse) => ({ engine_calls: calls, engine_characters: characters })

const unpriced = serviceError(
  "pricing_guard_tripped",
  "The engine of a policy has no price in the organisation's currency",
)
