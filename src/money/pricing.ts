/** Prices usage: pure, exact, rounded once. Source: interface.md "Exchange response", decisions on `usage`. */
import { type Amount, parseAmount } from "./amount.ts"

/** Counts to be priced; `inTokens` excludes cache reads and writes. */
export interface Counts {
  readonly inTokens: number
  readonly outTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly dims: Readonly<Record<string, number>>
}

/** Tokens of the input, cached or not. */
export const inputTokens = ({ inTokens, cacheReadTokens, cacheWriteTokens }: Counts): number =>
  inTokens + cacheReadTokens + cacheWriteTokens

/** Tokens of input and output, as a daily quota counts them. */
export const allTokens = (counts: Counts): number => inputTokens(counts) + counts.outTokens

/** A price list of one model in one currency; amounts per million tokens (or per million units of a dimension). */
export interface Price {
  readonly currency: string
  readonly input: Amount
  readonly output: Amount
  readonly cacheRead?: Amount | undefined
  readonly cacheWrite?: Amount | undefined
  readonly cacheWrite1h?: Amount | undefined
  readonly dims: Readonly<Record<string, Amount>>
}

export interface Charge {
  readonly cost: Amount
  /** What the cache saved: reads below the full price, minus the premium of writes; may be negative. */
  readonly cacheNetSaving: Amount
}

const million = 1_000_000n

/** Plausibility limit for a price, in currency units per million. */
export const maxPricePerMillion = 1_000_000

/** Whether a price can be charged: non-negative and within {@link maxPricePerMillion}. */
export const isSanePrice = (price: Price): boolean =>
  [
    price.input,
    price.output,
    price.cacheRead,
    price.cacheWrite,
    price.cacheWrite1h,
    ...Object.values(price.dims),
  ].every((amount) => amount === undefined || (amount >= 0n && amount <= BigInt(maxPricePerMillion) * 10n ** 10n))

/**
 * Prices counts. A dimension that is part of a total (audio in the input, reasoning in the output) is taken out of that
 * total and billed at its own price, if it has one; `web_search` counts calls and adds; `obs_*` is never billed.
 */
export const priceUsage = (price: Price, counts: Counts): Charge => {
  const cacheRead = price.cacheRead ?? price.input
  const cacheWrite = price.cacheWrite ?? price.input
  const cacheWrite1h = price.cacheWrite1h ?? cacheWrite
  const written1h = within(counts.dims["cache_write_1h"], counts.cacheWriteTokens)
  const written5m = BigInt(counts.cacheWriteTokens) - written1h
  const read = BigInt(counts.cacheReadTokens)

  const writes = written5m * cacheWrite + written1h * cacheWrite1h
  const total =
    refined(price, counts.inTokens, price.input, counts.dims, inputParts) +
    refined(price, counts.outTokens, price.output, counts.dims, outputParts) +
    read * cacheRead +
    writes +
    BigInt(counts.dims["web_search"] ?? 0) * (price.dims["web_search"] ?? 0n)
  const readSaved = read * (price.input - cacheRead)
  const writePremium = writes - (written5m + written1h) * price.input
  return { cost: perMillion(total), cacheNetSaving: perMillion(readSaved - writePremium) }
}

/** A line of a bill. */
export interface ChargeLine {
  readonly dimension: string
  readonly count: number
  readonly perMillion: Amount
  readonly cost: Amount
}

/** What {@link priceUsage} adds up, line by line; each is rounded, the charge is rounded once. */
export const chargeLines = (price: Price, counts: Counts): ReadonlyArray<ChargeLine> => {
  const { dims } = counts
  const lines: Array<ChargeLine> = []
  const add = (dimension: string, count: number, amount: Amount) => {
    if (count > 0) lines.push({ dimension, count, perMillion: amount, cost: perMillion(BigInt(count) * amount) })
  }
  const parts = (dimension: string, total: number, base: Amount, names: ReadonlyArray<string>) => {
    let rest = total
    for (const name of names) {
      const amount = price.dims[name]
      if (amount === undefined) continue
      const count = Number(within(dims[name], rest))
      add(name, count, amount)
      rest -= count
    }
    add(dimension, rest, base)
  }
  const written1h = Number(within(dims["cache_write_1h"], counts.cacheWriteTokens))
  const cacheWrite = price.cacheWrite ?? price.input
  parts("input", counts.inTokens, price.input, inputParts)
  parts("output", counts.outTokens, price.output, outputParts)
  add("cache_read", counts.cacheReadTokens, price.cacheRead ?? price.input)
  add("cache_write", counts.cacheWriteTokens - written1h, cacheWrite)
  add("cache_write_1h", written1h, price.cacheWrite1h ?? cacheWrite)
  const search = price.dims["web_search"]
  if (search !== undefined) add("web_search", dims["web_search"] ?? 0, search)
  return lines
}

const inputParts = ["audio_in", "image_in"] as const
const outputParts = ["reasoning", "audio_out"] as const

/**
 * The maximum charge for these tokens: all input at the highest input price, all output at the highest output price, and
 * these web searches.
 */
export const maxCharge = (price: Price, inTokens: number, outTokens: number, searches = 0): Amount => {
  const input = [price.input, price.cacheWrite, price.cacheWrite1h, price.dims["audio_in"], price.dims["image_in"]]
  const output = [price.output, price.dims["reasoning"], price.dims["audio_out"]]
  return perMillion(
    BigInt(inTokens) * dearest(input) +
      BigInt(outTokens) * dearest(output) +
      BigInt(searches) * (price.dims["web_search"] ?? 0n),
  )
}

const dearest = (amounts: ReadonlyArray<Amount | undefined>): Amount =>
  amounts.reduce<Amount>((most, amount) => (amount !== undefined && amount > most ? amount : most), 0n)

function refined(
  price: Price,
  total: number,
  base: Amount,
  dims: Readonly<Record<string, number>>,
  parts: ReadonlyArray<string>,
): bigint {
  let rest = total
  let sum = 0n
  for (const part of parts) {
    const amount = price.dims[part]
    if (amount === undefined) continue
    const count = within(dims[part], rest)
    sum += count * amount
    rest -= Number(count)
  }
  return sum + BigInt(rest) * base
}

/** A part never exceeds its total, whatever a vendor reports. */
const within = (part: number | undefined, whole: number): bigint => BigInt(Math.min(part ?? 0, whole))

/** Divides by a million, half away from zero. */
const perMillion = (amount: bigint): Amount => (amount >= 0n ? amount + million / 2n : amount - million / 2n) / million

/** Parses the prices of a catalogue entry; undefined if one is not a decimal. */
export const readPrice = (entry: {
  readonly currency: string
  readonly input: string
  readonly output: string
  readonly cacheRead?: string | undefined
  readonly cacheWrite?: string | undefined
  readonly cacheWrite1h?: string | undefined
  readonly dims?: Readonly<Record<string, string>> | undefined
}): Price | undefined => {
  const optional = (text: string | undefined) => (text === undefined ? undefined : parseAmount(text))
  const input = parseAmount(entry.input)
  const output = parseAmount(entry.output)
  if (input === undefined || output === undefined) return undefined
  const dims: Record<string, Amount> = {}
  for (const [name, text] of Object.entries(entry.dims ?? {})) {
    const amount = parseAmount(text)
    if (amount === undefined) return undefined
    dims[name] = amount
  }
  return {
    currency: entry.currency,
    input,
    output,
    cacheRead: optional(entry.cacheRead),
    cacheWrite: optional(entry.cacheWrite),
    cacheWrite1h: optional(entry.cacheWrite1h),
    dims,
  }
}
