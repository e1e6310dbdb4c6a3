/** A catalogue to start with, which `weir init` writes, or adds to an existing one. Pure. */
import { Schema } from "effect"
import type { CatalogueDocument, CatalogueEncoded } from "../protocol/catalogue/document.ts"
import { Id } from "../protocol/catalogue/values.ts"
import { type Additions, entryLine } from "./catalogue-text.ts"
import { kindByName } from "./kind-by-name.ts"
import { type ModelPrice, type PricedModel, priceEntry } from "./price-file.ts"

type VendorEntry = NonNullable<CatalogueEncoded["vendors"]>[number]
type ModelEntry = NonNullable<CatalogueEncoded["models"]>[number]
type PriceLine = NonNullable<CatalogueEncoded["prices"]>[number]

/** A model of a vendor that is to be served. */
export interface ChosenModel {
  readonly vendor: string
  /** The vendor's own name for it. */
  readonly model: string
  /** Undefined if it has no known price: it is free, as on a server of one's own. */
  readonly priced: PricedModel | undefined
}

export interface StarterTerms {
  readonly markup: bigint
  /** The date from which the prices hold. */
  readonly from: string
}

/** The entries of these vendors and models that the catalogue lacks; undefined stands for no catalogue. */
export const additionsOf = (
  document: CatalogueDocument | undefined,
  vendors: ReadonlyArray<VendorEntry>,
  chosen: ReadonlyArray<ChosenModel>,
  { markup, from }: StarterTerms,
): Required<Pick<Additions, "vendors" | "models" | "prices">> => {
  const served = new Set(
    (document?.models ?? []).flatMap(({ targets = [] }) => targets.map(({ vendor, model }) => `${vendor} ${model}`)),
  )
  const handles = new Set((document?.models ?? []).map(({ handle }) => handle))
  const models: Array<ModelEntry> = []
  const prices: Array<PriceLine> = []
  for (const each of chosen) {
    if (served.has(`${each.vendor} ${each.model}`)) continue
    const handle = handleOf(each, handles)
    if (handle === undefined) continue
    handles.add(handle)
    models.push(modelEntry(handle, each))
    prices.push(priceEntry(handle, each.priced?.price ?? free, markup, from))
  }
  const known = new Set((document?.vendors ?? []).map(({ id }) => id))
  return { vendors: vendors.filter(({ id }) => !known.has(id)), models, prices }
}

const free: ModelPrice = { input: 0n, output: 0n, dims: {} }

/** The vendor's name for the model, or `vendor/model` if that is taken; undefined if neither is an id. */
const handleOf = ({ vendor, model }: ChosenModel, taken: ReadonlySet<string>): string | undefined =>
  [model, `${vendor}/${model}`].find((handle) => isId(handle) && !taken.has(handle))

const isId = Schema.is(Id)

const modelEntry = (handle: string, { vendor, model, priced }: ChosenModel): ModelEntry => {
  const { contextWindow, maxOutput, capabilities = [], kind = kindByName(model) } = priced ?? {}
  return {
    handle,
    ...(kind !== "chat" && { kind }),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(capabilities.length > 0 && { capabilities: [...capabilities] }),
    targets: [{ vendor, model }],
  }
}

/** The text of a new catalogue. */
export const starterCatalogue = (
  { vendors = [], models = [], prices = [], passThrough = [] }: Additions,
  from: string,
): string => {
  const lines = (entries: ReadonlyArray<object>) => entries.map((entry) => `  ${entryLine(entry)}`)
  const isFree = prices.some(({ input, output }) => input === "0" && output === "0")
  return `${[
    "# The catalogue of Weir. Check it: weir apply weir.yaml --dry-run. Serve it: SVC_CATALOGUE=weir.yaml weir serve",
    "version: 1",
    "",
    "# The vendors that Weir calls. Secrets stay in the environment; a file is named as file:PATH.",
    "vendors:",
    ...lines(vendors),
    "",
    "# The models that clients may ask for, by handle. If the first target fails, the next ones are asked in order.",
    "models:",
    ...lines(models),
    "",
    "# Your prices, per million tokens (web_search: per million searches). To change one, add an entry with a later date.",
    ...(isFree ? ["# Models at 0 have no known price: enter yours."] : []),
    "prices:",
    ...lines(prices),
    "",
    ...(passThrough.length === 0
      ? []
      : [
          "# Routes of vendors' APIs that are passed through, each with its price and the most that is held for a call.",
          "passThrough:",
          ...lines(passThrough),
          "",
        ]),
    "plans:",
    "  - { id: standard, concurrency: 100, perMinute: 600 }",
    "",
    "# The applications that call Weir. The key's secret is generated when the file is applied, and printed once.",
    "orgs:",
    `  ${entryLine({ id: "org_first", name: "First organisation", plan: "standard", currency: "USD", models: [...models.map(({ handle }) => handle), ...(passThrough.length > 0 ? ["pass/*"] : [])] })}`,
    "apps:",
    "  - { id: app_first, org: org_first }",
    "keys:",
    "  - { id: key_first, app: app_first, scopes: [runtime] }",
    "topups:",
    `  - { id: first-${from}, org: org_first, amount: "10" } # credited once`,
  ].join("\n")}\n`
}
