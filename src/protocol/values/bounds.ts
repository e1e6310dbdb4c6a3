/**
 * Bounds of the numbers that operators and organisations choose: beyond what the largest customers need, and within what
 * the books can add up.
 */
import { Schema } from "effect"
import { Decimal } from "../usage.ts"

/** Units of a currency in one amount. */
export const mostMoney = 1_000_000_000_000n
/** Tokens of a day, a budget, a context window or a reported call. */
export const mostTokens = 1_000_000_000_000_000
const mostPerMinute = 1_000_000_000

/** A decimal that is not negative. */
export const NonNegative = Decimal.check(Schema.isPattern(/^[^-]/, { expected: "a decimal that is not negative" }))

/** Whether a decimal is at most {@link mostMoney}. */
export const isWithinMoney = (text: string): boolean => {
  const [, whole = "0", fraction = ""] = /^(\d{1,20})(?:\.(\d+))?$/.exec(text) ?? []
  const units = BigInt(whole)
  return units < mostMoney || (units === mostMoney && !/[1-9]/.test(fraction))
}

/** An amount of money that is not negative. */
export const Money = NonNegative.check(
  Schema.makeFilter((text: string) => (isWithinMoney(text) ? undefined : `at most ${mostMoney} is required`)),
)

/** A count of tokens, from 0. */
export const TokenCount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: mostTokens }))

/** A limit of tokens, from 1. */
export const TokenLimit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostTokens }))

/** Requests a minute. */
export const PerMinute = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostPerMinute }))
