/**
 * Prices of tokens in a price file, by the length of the input: fields that end in `_above_200k_tokens`, or a list of ranges
 * (`tiered_pricing`). All of a call is billed at the prices of its length.
 */
import { isObject, type JsonObject, stringAt } from "../dialects/parse/json.ts"
import type { Amount } from "../money/amount.ts"

export interface TokenPrices {
  readonly input?: Amount
  readonly output?: Amount
  readonly cacheRead?: Amount
  readonly cacheWrite?: Amount
  readonly cacheWrite1h?: Amount
  readonly dims: Readonly<Record<string, Amount>>
}

/** The prices of calls with more tokens of input than this, if they differ. */
export interface LengthPrice extends TokenPrices {
  readonly tokens: number
  /** Factors of service tiers, if they are not those of the price. */
  readonly tiers?: Readonly<Record<string, Amount>>
}

export interface LengthPrices {
  readonly base: TokenPrices
  /** Steps by rising thresholds. */
  readonly above: ReadonlyArray<LengthPrice>
}

export type AmountAt = (field: string, object: JsonObject) => Amount | undefined

const priceFields = {
  input: "input_cost_per_token",
  output: "output_cost_per_token",
  cacheRead: "cache_read_input_token_cost",
  cacheWrite: "cache_creation_input_token_cost",
  cacheWrite1h: "cache_creation_input_token_cost_above_1hr",
} as const

const partFields = {
  reasoning: "output_cost_per_reasoning_token",
  audio_in: "input_cost_per_audio_token",
  audio_out: "output_cost_per_audio_token",
  image_in: "input_cost_per_image_token",
} as const

const allFields: ReadonlyArray<string> = [...Object.values(priceFields), ...Object.values(partFields)]
const aboveField = /^(.+)_above_(\d{1,9})(k?)_tokens$/

/** Whether a field is a price of tokens above a threshold, which {@link lengthPricesOf} reads. */
export const isLengthField = (field: string): boolean => allFields.includes(aboveField.exec(field)?.[1] ?? "")

export const lengthPricesOf = (entry: JsonObject, amountAt: AmountAt): LengthPrices => {
  const [first, ...ranges] = rangesOf(entry)
  const base = statedPrices((field) => amountAt(field, entry) ?? (first && amountAt(field, first.prices)))
  const steps =
    first === undefined
      ? labelledThresholds(entry).map(({ tokens, label }) => ({
          tokens,
          ...statedPrices((field) => amountAt(`${field}_above_${label}_tokens`, entry)),
        }))
      : ranges.map(({ from, prices }) => ({ tokens: from, ...statedPrices((field) => amountAt(field, prices)) }))
  return withBase(base, steps)
}

/** The prices that an entry states. */
export const statedPrices = (amountOf: (field: string) => Amount | undefined): TokenPrices => {
  const stated = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, field]) => {
        const amount = amountOf(field)
        return amount === undefined ? [] : [[name, amount]]
      }),
    )
  return { ...stated(priceFields), dims: stated(partFields) }
}

/** xAI bills the higher price from the threshold on, others above it: https://docs.x.ai/docs/models */
const isInclusive = (entry: JsonObject): boolean => stringAt(entry, "litellm_provider") === "xai"

/** The thresholds of an entry, as its fields name them, and by rising numbers of tokens. */
export const labelledThresholds = (entry: JsonObject) => {
  const labels = new Set(
    Object.keys(entry).flatMap((field) => {
      const [, , digits, k] = isLengthField(field) ? (aboveField.exec(field) ?? []) : []
      return digits === undefined ? [] : [`${digits}${k}`]
    }),
  )
  return [...labels]
    .map((label) => ({ label, tokens: Number.parseInt(label, 10) * (label.endsWith("k") ? 1000 : 1) }))
    .map(({ label, tokens }) => ({ label, tokens: isInclusive(entry) ? tokens - 1 : tokens }))
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => a.tokens - b.tokens)
}

interface Range {
  readonly from: number
  readonly prices: JsonObject
}

/** The ranges of `tiered_pricing`, which begin at 0 and rise; none if they are not all of that form. */
const rangesOf = (entry: JsonObject): ReadonlyArray<Range> => {
  const list = entry["tiered_pricing"]
  if (!Array.isArray(list)) return []
  const ranges = list.flatMap((prices: unknown): ReadonlyArray<Range> => {
    const range = isObject(prices) ? prices["range"] : undefined
    const from = Array.isArray(range) ? Number(range[0]) : Number.NaN
    return isObject(prices) && Number.isSafeInteger(from) ? [{ from, prices }] : []
  })
  const isRising = ranges.every(({ from }, at) => from > (ranges[at - 1]?.from ?? -1))
  return isRising && ranges.length === list.length && ranges[0]?.from === 0 ? ranges : []
}

/** Whether an entry has ranges that are not read. */
export const hasUnreadRanges = (entry: JsonObject): boolean =>
  entry["tiered_pricing"] !== undefined && rangesOf(entry).length === 0

/**
 * A price that is stated only above a threshold has, below it, the price of the tokens without it; a part with the same price
 * as its total follows the total.
 */
const withBase = (base: TokenPrices, steps: ReadonlyArray<LengthPrice>): LengthPrices => {
  const isStated = (name: keyof TokenPrices) => steps.some((step) => step[name] !== undefined)
  const { input, output } = base
  const cacheWrite = base.cacheWrite ?? (isStated("cacheWrite") ? input : undefined)
  const usual = {
    input,
    output,
    cacheRead: base.cacheRead ?? (isStated("cacheRead") ? input : undefined),
    cacheWrite,
    cacheWrite1h: base.cacheWrite1h ?? (isStated("cacheWrite1h") ? (cacheWrite ?? input) : undefined),
  }
  const totals: Readonly<Record<string, "input" | "output">> = {
    reasoning: "output",
    audio_in: "input",
    audio_out: "output",
    image_in: "input",
  }
  const dims = { ...base.dims }
  for (const [name, total] of Object.entries(totals)) {
    const amount = base[total]
    if (dims[name] === undefined && amount !== undefined && steps.some((step) => step.dims[name] !== undefined))
      dims[name] = amount
  }
  const following = (step: LengthPrice) =>
    Object.entries(totals).flatMap(([name, total]) => {
      const amount = step[total]
      return amount === undefined || dims[name] === undefined || dims[name] !== base[total] ? [] : [[name, amount]]
    })
  return {
    base: { ...definedOf(usual), dims },
    above: steps
      .map((step) => ({ ...step, dims: { ...Object.fromEntries(following(step)), ...step.dims } }))
      // A field may be there without a price.
      .filter(({ tokens: _, dims, ...prices }) => Object.keys({ ...prices, ...dims }).length > 0),
  }
}

const definedOf = (prices: Readonly<Record<string, Amount | undefined>>) =>
  Object.fromEntries(Object.entries(prices).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, amount]])))
