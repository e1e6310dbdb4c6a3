/** The price of an engine's calls, and the account that pays them. Pure. */
import type { Effect } from "effect"
import { type Amount, parseAmount } from "../../money/amount.ts"
import type { HoldError } from "../../money/ledger.ts"
import { maxPricePerMillion } from "../../money/pricing.ts"
import type { Policy } from "../../protocol/catalogue/policy.ts"
import type { EngineKind } from "./engine.ts"

export interface EnginePrice {
  readonly currency: string
  readonly perCall: Amount
  readonly perThousandCharacters: Amount
  readonly paidBy: "platform" | "organisation"
}

/** Questions that have an answer, or all that are asked about a text, and the characters of their texts. */
export interface EngineUse {
  readonly calls: number
  readonly characters: number
}

/** The questions about one text. */
export interface EngineWork {
  readonly policy: string
  readonly engine: EngineKind
  readonly price: EnginePrice
  /** If all are answered. */
  readonly most: EngineUse
  /** The questions that are answered so far. */
  readonly answered: () => EngineUse
}

/** Records the calls of engines for one caller, and charges them. */
export interface EngineAccount {
  /**
   * Asks while the most that the questions can cost is held, and settles at the cost of those that are answered, however asking
   * ends.
   * @returns the refusal of the hold as `refused`: nothing was asked then
   */
  readonly within: <A, E>(
    work: EngineWork,
    ask: Effect.Effect<A, E>,
    refused: (error: HoldError) => E,
  ) => Effect.Effect<A, E>
}

/** The price of a policy's engine; undefined if it has none. The catalogue has refused amounts that are no decimals. */
export const enginePriceOf = ({ price, paidBy = "platform" }: Policy): EnginePrice | undefined => {
  if (price === undefined) return undefined
  const { currency, perCall = "0", perThousandCharacters = "0" } = price
  return {
    currency,
    perCall: parseAmount(perCall) ?? 0n,
    perThousandCharacters: parseAmount(perThousandCharacters) ?? 0n,
    paidBy,
  }
}

/** The reason why the price of a policy cannot be charged. */
export const enginePriceProblem = ({ match, price, paidBy }: Policy): string | undefined => {
  const hasEngine = "engine" in match || "moderation" in match
  if (!hasEngine && (price ?? paidBy) !== undefined) return "only a policy with an engine has a price"
  if (price === undefined) return paidBy === "organisation" ? "is missing: an organisation pays it" : undefined
  const amounts = [price.perCall, price.perThousandCharacters].filter((text) => text !== undefined)
  if (amounts.length === 0) return "needs perCall or perThousandCharacters"
  const most = parseAmount(`${maxPricePerMillion}`) ?? 0n
  const isSane = amounts.every((text) => {
    const amount = parseAmount(text)
    return amount !== undefined && amount <= most
  })
  return isSane ? undefined : `a price is above ${maxPricePerMillion}`
}

/** The cost of answered questions: exact, and rounded once, half up. */
export const costOfUse = (
  { perCall, perThousandCharacters }: Pick<EnginePrice, "perCall" | "perThousandCharacters">,
  { calls, characters }: EngineUse,
): Amount => BigInt(calls) * perCall + (BigInt(characters) * perThousandCharacters + 500n) / 1000n

/** Characters as speech counts them: a pair of surrogates is one. */
export const charactersOf = (text: string): number => {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0xdc00 && code <= 0xdfff) count--
  }
  return count
}
