/** Prices of lines of batches. Pure. */
import { hostedUnits } from "../protocol/hosted-unit.ts"
import { type Amount, wholeAmount } from "./amount.ts"
import { type Price, withFactor } from "./pricing.ts"

/** The share of a price that a line of a batch costs; 1 if the list states none. */
export const batchFactor = ({ batch = wholeAmount(1) }: Pick<Price, "batch">): Amount => batch

/**
 * The prices of a line of a batch, those of long inputs included: holds and charges are made of them as of any other.
 *
 * **Gotchas**: tools that a vendor runs keep their price, as vendors bill them. A list with a factor has no price of the
 * service tier `batch` any more, because a vendor that reports that tier means the same discount.
 */
export const batchPrice = (price: Price): Price => {
  if (price.batch === undefined) return price
  const { batch: _, tiers, above, ...rest } = price
  const { batch: _batch, ...others } = tiers ?? {}
  return {
    ...withFactor(rest, batchFactor(price), (dimension) => !hosted.has(dimension)),
    ...(tiers !== undefined && { tiers: others }),
    ...(above !== undefined && { above: above.map((step) => ({ ...step, price: batchPrice(step.price) })) }),
  }
}

const hosted: ReadonlySet<string> = new Set(hostedUnits)
