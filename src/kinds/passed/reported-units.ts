/** The counts that a vendor reports in a reply, exact. Pure. */

import { type Amount, formatAmount, parseAmount } from "../../money/amount.ts"
import { valuesAt } from "../../pass-through/reply-path.ts"
import type { UsagePlace } from "../../pass-through/routes.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"

/** Reads counts from headers, and from each value of a reply: the last report of a unit counts. */
export class ReportedUnits {
  readonly #places: ReadonlyMap<string, UsagePlace>
  readonly #counts = new Map<string, Amount>()
  /** Whether a report was no count. */
  isMalformed = false

  constructor(places: ReadonlyMap<string, UsagePlace>) {
    this.#places = places
  }

  get counts(): ReadonlyMap<string, Amount> {
    return this.#counts
  }

  /** The counts as decimal texts; undefined if the vendor reported none at all. */
  reported(): Record<string, string> | undefined {
    const texts = [...this.#counts].map(([unit, count]): [string, string] => [unit, formatAmount(count)])
    return this.isMalformed || texts.length > 0 ? Object.fromEntries(texts) : undefined
  }

  headers(headers: Readonly<Record<string, string>>): void {
    for (const [unit, place] of this.#places) {
      const text = "header" in place ? headers[place.header] : undefined
      if (text !== undefined) this.#take(unit, text)
    }
  }

  /** @param text of the value */
  json(value: unknown, text: string): void {
    const source = new JsonSource(text)
    for (const [unit, place] of this.#places) {
      if (!("place" in place)) continue
      for (const found of valuesAt(value, place.place)) {
        if (found.value === null) continue
        const written = typeof found.value === "string" ? found.value : source.textAt(found.path)
        this.#take(unit, written ?? "")
      }
    }
  }

  #take(unit: string, text: string): void {
    const count = readCount(text.trim())
    if (count === undefined) this.isMalformed = true
    else this.#counts.set(unit, count)
  }
}

const exponent = /^(\d{1,12})(?:\.(\d{1,18}))?[eE]([+-]?\d{1,2})$/

/** A count of 0 or more, with ten digits after its point; further digits are rounded up. */
const readCount = (text: string): Amount | undefined => {
  const plain = expanded(text)
  const [whole = "", fraction = ""] = plain.split(".")
  if (!/^\d{1,20}$/.test(whole) || !/^\d{0,60}$/.test(fraction)) return undefined
  const count = parseAmount(fraction === "" ? whole : `${whole}.${fraction.slice(0, 10)}`)
  return count === undefined || !/[1-9]/.test(fraction.slice(10)) ? count : count + 1n
}

/** A number without its exponent. */
const expanded = (text: string): string => {
  const found = exponent.exec(text)
  if (found === null) return text
  const [, whole = "", fraction = "", power = "0"] = found
  const digits = `${whole}${fraction}`
  const point = whole.length + Number(power)
  if (point <= 0) return `0.${"0".repeat(-point)}${digits}`
  return point >= digits.length
    ? `${digits}${"0".repeat(point - digits.length)}`
    : `${digits.slice(0, point)}.${digits.slice(point)}`
}
