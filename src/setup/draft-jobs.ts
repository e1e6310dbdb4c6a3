/** The work on the text of a draft, see {@link Drafts}. Pure. */
import { Result } from "effect"
import { type CatalogueIssue, type LoadedCatalogue, loadCatalogue } from "../catalogue/load.ts"
import { dialectOf } from "../dialects/index.ts"
import type { CatalogueDocument, PlatformDocument } from "../protocol/catalogue/document.ts"
import type { Draft, Offer } from "../protocol/control/draft.ts"
import { type Additions, addEntries, entryLine } from "./catalogue-text.ts"
import { offerOf } from "./choose-models.ts"
import { knownVendorOf } from "./known-vendors.ts"
import { parseMarkup } from "./markup.ts"
import { type PriceFile, readPriceFile } from "./price-file.ts"
import { findPriced, importPrices, modelsOf } from "./price-import.ts"
import { additionsOf } from "./starter.ts"

/** A result, or the faults of the text or the request. */
export type Checked<A> = Result.Result<A, ReadonlyArray<CatalogueIssue>>

/** A problem of the request rather than of a line of the text. */
const issue = (path: string, message: string): CatalogueIssue => ({ path, line: 1, message })

const newText = "version: 1\n"
const textOf = (text: string): string => (text.trim() === "" ? newText : text)
const load = (text: string): Checked<LoadedCatalogue> => loadCatalogue(textOf(text))

export interface AddJob {
  readonly kind: "add"
  readonly text: string
  readonly add: Additions
}

/** Adds entries; without any, it only returns the contents of the text. */
export const addToDraft = ({ text, add }: AddJob): Checked<Draft> =>
  Result.mapBoth(addEntries(textOf(text), add), {
    onFailure: (refusal) =>
      refusal._tag === "Invalid"
        ? refusal.issues
        : refusal.sections.map((section) =>
            issue(section, "entries are added only to a list with one entry a line: write it so, or add them by hand"),
          ),
    onSuccess: ({ text: added, document: { vendors = [], models = [] } }) => ({
      text: added,
      added: Object.values(add).flatMap((entries) => entries.map(entryLine)),
      vendors: vendors.map(({ id }) => id),
      models: models.map(({ handle }) => handle),
    }),
  })

export interface VendorJob {
  readonly kind: "vendor"
  readonly text: string
  readonly vendor: string
}

/** The part of the document that a call of the vendor needs; without the vendor if there is none. */
export const vendorOfDraft = ({ text, vendor }: VendorJob): Checked<PlatformDocument> =>
  Result.map(load(text), ({ document: { vendors = [], models = [], timeouts } }) => ({
    version: 1,
    ...(timeouts !== undefined && { timeouts }),
    vendors: vendors.filter(({ id }) => id === vendor),
    models: models.filter(({ targets = [] }) => targets.some((target) => target.vendor === vendor)).slice(0, 1),
  }))

export interface OffersJob {
  readonly kind: "offers"
  readonly text: string
  readonly vendor: string
  /** Models that the vendor lists; undefined if it has no list. */
  readonly listed: ReadonlyArray<string> | undefined
  /** The text of a price file. */
  readonly prices: string | undefined
  readonly provider: string | undefined
  readonly markup: string
  /** Dates from which prices are in force: today for the first price of a model, tomorrow for a later one. */
  readonly today: string
  readonly tomorrow: string
}

export interface Offered {
  readonly offers: ReadonlyArray<Offer>
  readonly unpriced: ReadonlyArray<string>
}

/** Models of the vendor that the catalogue lacks, and prices that changed. */
export const offersForDraft = (job: OffersJob): Checked<Offered> =>
  Result.flatMap(load(job.text), ({ document }) => {
    const vendor = document.vendors?.find(({ id }) => id === job.vendor)
    if (vendor === undefined) return Result.fail([issue("vendor", "the catalogue has no such vendor")])
    const provider = job.provider ?? knownVendorOf(vendor)?.provider
    if (job.prices === undefined) return Result.succeed(offers(document, job, undefined, provider))
    if (provider === undefined) return Result.fail([issue("provider", "name the vendor as the price file calls it")])
    return Result.mapBoth(readPriceFile(job.prices), {
      onFailure: (reason) => [issue("prices", `this is no price file: ${reason}`)],
      onSuccess: (file) => offers(document, job, file, provider),
    })
  })

const offers = (
  document: CatalogueDocument,
  { vendor, listed, markup: percentage, today, tomorrow }: OffersJob,
  file: PriceFile | undefined,
  provider: string | undefined,
): Offered => {
  const markup = parseMarkup(percentage) ?? 0n
  const entry = document.vendors?.find(({ id }) => id === vendor)
  const names = listed ?? (file === undefined || provider === undefined ? [] : modelsOf(file, provider))
  const { models: chosen, unpriced } = offerOf(
    vendor,
    names,
    provider,
    file,
    today,
    (kind) => entry !== undefined && dialectOf(entry)[kind] !== undefined,
  )
  const { models, prices } = additionsOf(document, [], chosen, { markup, from: today })
  const added = models.flatMap((entry, at): ReadonlyArray<Offer> => {
    const price = prices[at]
    const model = entry.targets?.[0]?.model ?? ""
    const { left = [] } = (file && provider !== undefined && findPriced(file, provider, model)) || {}
    return price === undefined ? [] : [{ model, handle: entry.handle, entry, price, left }]
  })
  if (file === undefined || provider === undefined) return { offers: added, unpriced }
  const terms = { vendor, provider, markup, from: tomorrow, firstFrom: today }
  const changed = importPrices(document, file, terms).changes.map(
    ({ entry, before, priced }): Offer => ({
      model: nameAt(document, vendor, entry.model) ?? priced.name,
      handle: entry.model,
      price: entry,
      ...(before !== undefined && { before }),
      left: priced.left,
    }),
  )
  return { offers: [...changed, ...added], unpriced }
}

/** The vendor's own name of a model of the catalogue. */
const nameAt = ({ models = [] }: CatalogueDocument, vendor: string, handle: string): string | undefined =>
  models.find((model) => model.handle === handle)?.targets?.find((target) => target.vendor === vendor)?.model
