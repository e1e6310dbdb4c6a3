/** Steps of a price: above a number of input tokens, all of a call is billed at other prices. Pure. */

/** The prices above a threshold. They are complete: what the price list does not state there is as below the threshold. */
export interface PriceStep<Price> {
  readonly tokens: number
  readonly price: Price
}

interface WithSteps<Price> {
  /** Steps by rising thresholds. */
  readonly above?: ReadonlyArray<PriceStep<Price>> | undefined
}

/** The prices of a call with this many tokens of input, cached or not. */
export const atLength = <Price extends WithSteps<Price>>(price: Price, tokens: number): Price =>
  price.above?.findLast((step) => tokens > step.tokens)?.price ?? price

/** The prices that may apply to a call with at most this many tokens of input. */
export const pricesUpTo = <Price extends WithSteps<Price>>(price: Price, tokens: number): ReadonlyArray<Price> => [
  price,
  ...(price.above ?? []).filter((step) => tokens > step.tokens).map((step) => step.price),
]
