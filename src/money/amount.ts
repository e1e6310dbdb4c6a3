/** Money as integers of 10^-10 of a currency unit; never a binary float. */

/** An amount in units of 10^-10. */
export type Amount = bigint

const fractionDigits = 10
const unit = 10n ** BigInt(fractionDigits)

/** A count, such as one of tokens, as an amount; a fraction counts as a whole. */
export const wholeAmount = (count: number): Amount => BigInt(Math.ceil(count)) * unit

/** Reads a DECIMAL string of at most ten fraction digits; `undefined` for anything else. */
export const parseAmount = (text: string): Amount | undefined => {
  const match = /^(-?)(\d{1,20})(?:\.(\d{1,10}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = "", fraction = ""] = match
  const magnitude = BigInt(whole) * unit + BigInt(fraction.padEnd(fractionDigits, "0"))
  return sign === "-" ? -magnitude : magnitude
}

/** Writes an amount as a DECIMAL string without trailing zeros. */
export const formatAmount = (amount: Amount): string => {
  const magnitude = amount < 0n ? -amount : amount
  const whole = `${amount < 0n ? "-" : ""}${magnitude / unit}`
  const rest = magnitude % unit
  return rest === 0n ? whole : `${whole}.${rest.toString().padStart(fractionDigits, "0").replace(/0+$/, "")}`
}

/** Removes trailing zeros from an amount of the database. */
export const tidy = (amount: string): string => formatAmount(parseAmount(amount) ?? 0n)

export const maxAmount = (one: Amount, other: Amount): Amount => (one > other ? one : other)
