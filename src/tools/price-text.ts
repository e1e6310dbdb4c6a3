/** Prices of tools for people. Pure. */
import type { ToolPrice } from "../protocol/catalogue/tool-server.ts"

/** Amounts are for a million, as in the catalogue: `USD 1000 calls, 500 rows, at most 0.1 a call`. */
export const priceText = (price: ToolPrice): string => {
  if (price === "free") return price
  const { currency, calls, units = {}, hold } = price
  const parts = [
    ...(calls === undefined ? [] : [`${calls} calls`]),
    ...Object.entries(units).map(([unit, { price }]) => `${price} ${unit}`),
    ...(hold === undefined ? [] : [`at most ${hold} a call`]),
  ]
  return `${currency} ${parts.join(", ")}`
}
