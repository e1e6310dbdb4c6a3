/** The markup on a vendor's price. */
import { percentage } from "../protocol/control/draft.ts"

/** Reads a percentage with at most two decimals, such as `10%`, in hundredths of a percent. */
export const parseMarkup = (text: string): bigint | undefined => {
  const [, whole, fraction = ""] = percentage.exec(text) ?? []
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(2, "0"))
}
