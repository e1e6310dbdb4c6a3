/** The changes that a price file makes in a catalogue. */

import { isDeepStrictEqual } from "node:util"
import type { CatalogueDocument } from "../protocol/catalogue/document.ts"
import type { PriceEntry } from "../protocol/catalogue/price.ts"
import { keepUnsaid } from "./kept-price.ts"
import { type PricedModel, type PriceFile, priceEntry } from "./price-file.ts"

export interface PriceImport {
  /** Prices that are new, or differ from the one in force. */
  readonly changes: ReadonlyArray<PriceChange>
  /** Models whose price stays as it is. */
  readonly same: ReadonlyArray<string>
  /** Models that have a price from the same time on, or a later one. */
  readonly later: ReadonlyArray<string>
  /** Models that another vendor serves first: one price is charged, whichever vendor serves. */
  readonly secondary: ReadonlyArray<string>
  /** Models of the vendor that the file does not price. */
  readonly unknown: ReadonlyArray<string>
}

export interface PriceChange {
  readonly entry: PriceEntry
  /** Undefined if the model has no price yet. */
  readonly before: PriceEntry | undefined
  readonly priced: PricedModel
  /** The parts of the price in force that the file does not have, and that stay, e.g. `tiers.batch`. */
  readonly kept: ReadonlyArray<string>
}

export interface ImportTerms {
  /** A vendor of the catalogue. */
  readonly vendor: string
  /** The vendor, as the file calls it. */
  readonly provider: string
  /** In hundredths of a percent. */
  readonly markup: bigint
  /** The time from which prices hold that follow others: a date or an instant. */
  readonly from: string
  /** The same for models without a price. */
  readonly firstFrom: string
}

/** A vendor's models by its own names, as a price file has them. */
export const modelsOf = ({ models }: PriceFile, provider: string): ReadonlyArray<string> =>
  models
    // Names with a region beside the vendor's are prices of one region.
    .filter((priced) => isOf(priced, provider) && !/^bedrock\//.test(priced.name))
    .map(({ name }) => {
      const prefix = prefixes(provider).find((each) => name.startsWith(each))
      return prefix === undefined ? name : name.slice(prefix.length)
    })

/** The file has two names for Bedrock, by its two APIs. */
const isOf = (priced: PricedModel, provider: string): boolean =>
  priced.provider === provider || (provider === "bedrock" && priced.provider === "bedrock_converse")

/** The beginnings that names may have in the file: `vertex_ai/` for both of Vertex AI's. */
const prefixes = (provider: string): ReadonlyArray<string> => [`${provider}/`, `${provider.split("-")[0]}/`]

/** Compares the prices of a vendor's models with a price file. Prices in force are never changed: new ones follow them. */
export const importPrices = (document: CatalogueDocument, file: PriceFile, terms: ImportTerms): PriceImport => {
  const changes: Array<PriceChange> = []
  const same: Array<string> = []
  const later: Array<string> = []
  const secondary: Array<string> = []
  const unknown: Array<string> = []
  for (const { handle, targets = [] } of document.models ?? []) {
    const target = targets.find(({ vendor }) => vendor === terms.vendor)
    if (target === undefined) continue
    if (targets.some(({ vendor, tier = 1 }) => vendor !== terms.vendor && tier < (target.tier ?? 1))) {
      secondary.push(handle)
      continue
    }
    const priced = findPriced(file, terms.provider, target.model)
    if (priced === undefined) {
      unknown.push(handle)
      continue
    }
    const before = newestOf(document.prices ?? [], handle)
    const stated = priceEntry(handle, priced.price, terms.markup, before === undefined ? terms.firstFrom : terms.from)
    const { entry, names: kept } =
      before === undefined ? { entry: stated, names: [] } : keepUnsaid(stated, before, priced.kind)
    if (before !== undefined && isDeepStrictEqual({ ...before, from: "" }, { ...entry, from: "" })) same.push(handle)
    else if (before !== undefined && Date.parse(before.from) >= Date.parse(terms.from)) later.push(handle)
    else changes.push({ entry, before, priced, kept })
  }
  return { changes, same, later, secondary, unknown }
}

/** A model by the vendor's own name for it: `gpt-5`, or `gemini/gemini-2.5-pro` for `gemini-2.5-pro`. */
export const findPriced = ({ models }: PriceFile, provider: string, model: string): PricedModel | undefined => {
  const own = models.filter((priced) => isOf(priced, provider))
  const names = [...prefixes(provider).map((prefix) => prefix + model), model]
  return names.map((name) => own.find((priced) => priced.name === name)).find((priced) => priced !== undefined)
}

const newestOf = (prices: ReadonlyArray<PriceEntry>, handle: string): PriceEntry | undefined =>
  prices
    .filter(({ model, currency }) => model === handle && currency === "USD")
    .reduce<PriceEntry | undefined>(
      (newest, price) => (newest === undefined || Date.parse(price.from) >= Date.parse(newest.from) ? price : newest),
      undefined,
    )
