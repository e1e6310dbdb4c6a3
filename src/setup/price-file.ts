/**
 * The price file that the community keeps: LiteLLM's `model_prices_and_context_window.json`, MIT,
 * https://github.com/BerriAI/litellm. Prices are per token, as JSON numbers; they are read from the text, never through a
 * binary float.
 */

import { Result } from "effect"
import { lackingPrice } from "../catalogue/price-of-kind.ts"
import { isObject, type JsonObject, objectAt, stringAt } from "../dialects/parse/json.ts"
import { type Amount, formatAmount } from "../money/amount.ts"
import { isSanePrice } from "../money/pricing.ts"
import type { Capability } from "../protocol/catalogue/model.ts"
import type { PriceEntry } from "../protocol/catalogue/price.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import { entryOf } from "../protocol/values/entry.ts"
import { hasUnreadRanges, isLengthField, type LengthPrice, lengthPricesOf, type TokenPrices } from "./length-prices.ts"
import { type MediaPrice, mediaPriceOf } from "./media-price.ts"
import { type TierFactors, tierEntry, tierPricesOf } from "./tier-prices.ts"

export interface PricedModel {
  /** Its name in the file, e.g. `gemini/gemini-2.5-pro`. */
  readonly name: string
  /** The vendor, as the file calls it. */
  readonly provider: string
  readonly kind: ModelKind
  readonly contextWindow: number | undefined
  readonly maxOutput: number | undefined
  readonly capabilities: ReadonlyArray<Capability>
  /** The date on which the vendor ends it, e.g. `2026-12-11`. */
  readonly deprecatedAt: string | undefined
  readonly price: ModelPrice
  /** The parts of its price that Weir's prices cannot express, e.g. `prices of media by the piece`. */
  readonly left: ReadonlyArray<string>
}

/** Per million tokens, or per million searches, in US dollars. */
export interface ModelPrice extends TokenPrices {
  readonly above?: ReadonlyArray<LengthPrice>
  readonly tiers?: TierFactors
}

export interface PriceFile {
  readonly models: ReadonlyArray<PricedModel>
  /** Entries that do not carry over, by the reason. */
  readonly refused: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Reads a price file. @returns the reason why it is none, in one line */
export const readPriceFile = (text: string): Result.Result<PriceFile, string> => {
  let entries: unknown
  try {
    entries = parsePrices(text)
  } catch {
    return Result.fail("it is not JSON")
  }
  return isObject(entries)
    ? Result.succeed(readPriceEntries(entries))
    : Result.fail("it is not an object with an entry for each model")
}

/** Reads the entries of a price file, by the models' names; their numbers are texts. */
export const readPriceEntries = (entries: JsonObject): PriceFile => {
  const models: Array<PricedModel> = []
  const refused = new Map<string, Array<string>>()
  for (const [name, entry] of Object.entries(entries)) {
    // An entry that documents the format.
    if (name === "sample_spec") continue
    const read = isObject(entry) ? readEntry(name, entry) : Result.fail("not an object")
    if (Result.isSuccess(read)) models.push(read.success)
    else refused.set(read.failure, [...(refused.get(read.failure) ?? []), name])
  }
  return { models, refused }
}

/** Parses JSON whose numbers become texts. @throws if it is not JSON */
export const parsePrices = (text: string): unknown => JSON.parse(text, numbersAsText)

/** Node 22 and newer hand the source of a number to the reviver (TC39 "JSON.parse source text access"). */
const numbersAsText = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && context?.source !== undefined ? context.source : value

/** The kinds of calls, by the file's names of modes. */
const modes: Readonly<Record<string, ModelKind>> = {
  chat: "chat",
  responses: "chat",
  embedding: "embedding",
  rerank: "rerank",
  moderation: "moderation",
  image_generation: "image",
  audio_speech: "speech",
  audio_transcription: "transcription",
  video_generation: "video",
}

const readEntry = (name: string, entry: JsonObject): Result.Result<PricedModel, string> => {
  const mode = stringAt(entry, "mode") ?? "none"
  const kind = entryOf(modes, mode)
  if (kind === undefined) return Result.fail(`mode ${mode}`)
  const unreadable: Array<string> = []
  const perMillion = (field: string, object = entry): Amount | undefined => {
    const source = stringAt(object, field)
    if (source === undefined) return undefined
    const amount = shifted(source)
    if (amount === undefined) unreadable.push(field)
    return amount
  }
  const lengths = lengthPricesOf(entry, perMillion)
  const { base } = lengths
  const tiers = tierPricesOf(entry, perMillion, lengths)
  const above = lengths.above.map((step) => {
    const own = tiers.above.get(step.tokens)
    return own === undefined ? step : { ...step, tiers: own }
  })
  const { input, output, cacheRead, cacheWrite, cacheWrite1h } = base
  const query = perMillion("input_cost_per_query")
  // A reranker that is billed by the query has tokens at 0 in the file.
  const isByQuery = kind === "rerank" && query !== undefined && (input ?? 0n) === 0n
  const media = mediaPriceOf(kind, perMillion)
  const isPriced =
    media === undefined
      ? kind === "chat"
        ? input !== undefined && output !== undefined
        : input !== undefined || isByQuery
      : isMediaPriced(kind, media)
  if (unreadable.length === 0 && !isPriced) return Result.fail(media === undefined ? "no price per token" : "no price")
  const searches = objectAt(entry, "search_context_cost_per_query")
  const search = stringAt(searches, "search_context_size_medium")
  const price = media ?? {
    ...(!isByQuery && given("input", input)),
    ...(kind === "chat" && given("output", output)),
    ...given("cacheRead", cacheRead),
    ...given("cacheWrite", cacheWrite),
    ...given("cacheWrite1h", cacheWrite1h),
    dims: {
      ...base.dims,
      ...(kind === "rerank" && given("searches", query)),
      ...given("web_search", search === undefined ? undefined : shifted(search)),
    },
    ...(kind === "chat" && above.length > 0 && { above }),
    ...(kind === "chat" && Object.keys(tiers.base).length > 0 && { tiers: tiers.base }),
  }
  if (unreadable.length > 0)
    return Result.fail(`${[...new Set(unreadable)].join(", ")}: more than ten decimals per million tokens`)
  if (![price, ...above].every((each) => isSanePrice({ currency: "USD", input: 0n, output: 0n, ...each, above: [] })))
    return Result.fail("a price is negative, or above 1,000,000 per million")
  const count = (field: string) => {
    const number = Number(stringAt(entry, field))
    return Number.isSafeInteger(number) && number > 0 ? number : undefined
  }
  return Result.succeed({
    name,
    provider: stringAt(entry, "litellm_provider") ?? "",
    kind,
    contextWindow: count("max_input_tokens") ?? count("max_tokens"),
    maxOutput: kind === "chat" ? (count("max_output_tokens") ?? count("max_tokens")) : undefined,
    capabilities: capabilities.flatMap(([capability, field]) => (entry[field] === true ? [capability] : [])),
    deprecatedAt: stringAt(entry, "deprecation_date"),
    price,
    left: [
      ...leftOut(entry, kind, searches),
      ...tiers.uneven.map((tier) => `prices of the tier ${tier} that are no multiple by its factor`),
    ],
  })
}

const isMediaPriced = (kind: ModelKind, { input, output, dims }: MediaPrice): boolean => {
  const lacks = [
    ...(input === undefined ? ["input" as const] : []),
    ...(output === undefined ? ["output" as const] : []),
  ]
  return lackingPrice(kind, { currency: "USD", input: 0n, output: 0n, dims, lacks }) === undefined
}

const given = (name: string, amount: Amount | undefined): Readonly<Record<string, Amount>> =>
  amount === undefined ? {} : { [name]: amount }

const capabilities: ReadonlyArray<readonly [Capability, string]> = [
  ["tools", "supports_function_calling"],
  ["images", "supports_vision"],
  ["files", "supports_pdf_input"],
  ["reasoning", "supports_reasoning"],
  ["cache", "supports_prompt_caching"],
]

const leftOut = (entry: JsonObject, kind: ModelKind, searches: JsonObject | undefined): ReadonlyArray<string> => {
  const unread = Object.keys(entry).filter((field) => kind !== "chat" || !isLengthField(field))
  const lengths = unread.flatMap((field) => /^(?!.*_above_12hr).*_cost.*_above_(\d+k?)_tokens$/.exec(field)?.[1] ?? [])
  const long = [...new Set(lengths)].map(
    (tokens) => `prices above ${tokens} tokens${kind === "chat" ? " of media" : ""}`,
  )
  if (isMedia(kind)) return long
  const bySize = new Set(Object.values(searches ?? {}))
  return [
    ...long,
    ...(hasUnreadRanges(entry) ? ["prices by the length of the prompt"] : []),
    ...("cache_creation_input_token_cost_above_12hr" in entry ? ["prices of caches that last for 12 hours"] : []),
    ...(bySize.size > 1 ? ["prices of searches by their size: medium is taken"] : []),
    ...("search_free_requests" in entry ? ["searches that are free"] : []),
    ...("input_cost_per_image" in entry || "input_cost_per_audio_per_second" in entry
      ? ["prices of media by the piece"]
      : []),
  ]
}

const mediaKinds: ReadonlySet<ModelKind> = new Set<ModelKind>(["image", "speech", "transcription", "video"])
const isMedia = (kind: ModelKind): boolean => mediaKinds.has(kind)

/** A price per token, or per search, as an amount per million; undefined if it does not fit in ten decimals. */
const shifted = (source: string): Amount | undefined => {
  const match = /^(-?)(\d{1,40})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,3}))?$/i.exec(source)
  if (match === null) return undefined
  const [, sign, whole = "", fraction = "", exponent = "0"] = match
  const digits = BigInt(whole + fraction)
  const shift = Number(exponent) - fraction.length + 6 + 10
  const divisor = 10n ** BigInt(Math.max(0, -shift))
  if (digits % divisor !== 0n) return undefined
  const amount = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / divisor
  return sign === "-" ? -amount : amount
}

/** A catalogue's entry for a price. @param markup the markup, in hundredths of a percent, rounded up */
export const priceEntry = (
  model: string,
  { above = [], tiers, ...price }: ModelPrice,
  markup: bigint,
  from: string,
): PriceEntry => {
  const charged = (amount: Amount) => formatAmount((amount * (10_000n + markup) + 9999n) / 10_000n)
  const amounts = (stated: Readonly<Record<string, Amount | undefined>>) =>
    Object.fromEntries(
      Object.entries(stated).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, charged(amount)]])),
    )
  const prices = ({ input, output, cacheRead, cacheWrite, cacheWrite1h, dims }: TokenPrices) => ({
    ...amounts({ input, output, cacheRead, cacheWrite, cacheWrite1h }),
    ...(Object.keys(dims).length > 0 && { dims: amounts(dims) }),
  })
  return {
    model,
    currency: "USD",
    ...prices(price),
    ...tierEntry(tiers),
    ...(above.length > 0 && {
      above: above.map(({ tokens, tiers: own, ...step }) => ({ tokens, ...prices(step), ...tierEntry(own) })),
    }),
    from,
  }
}
