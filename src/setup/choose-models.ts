/** The models of a vendor that `weir init` offers. Pure. */
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import type { PriceFile } from "./price-file.ts"
import { findPriced } from "./price-import.ts"
import type { ChosenModel } from "./starter.ts"

export interface Offer {
  readonly models: ReadonlyArray<ChosenModel>
  /** Models that the vendor lists and that have no price: embeddings, images, or too new. */
  readonly unpriced: ReadonlyArray<string>
}

/**
 * The models that a vendor lists, has a price for, and does not end; dated names are left out if the undated one is listed.
 * On a server of one's own, all models.
 * @param provider the vendor's name in the price file; undefined for a server of one's own
 * @param today e.g. `2026-11-22`
 * @param canDo the kinds of calls that the vendor's dialect has
 */
export const offerOf = (
  vendor: string,
  listed: ReadonlyArray<string>,
  provider: string | undefined,
  prices: PriceFile | undefined,
  today: string,
  canDo: (kind: ModelKind) => boolean = (kind) => kind === "chat",
): Offer => {
  if (provider === undefined)
    return { models: listed.map((model) => ({ vendor, model, priced: undefined })), unpriced: [] }
  const names = new Set(listed)
  const models: Array<ChosenModel> = []
  const unpriced: Array<string> = []
  for (const model of listed) {
    const undated = model.replace(/-(\d{4}-\d\d-\d\d|\d{8})$/, "")
    if (undated !== model && names.has(undated)) continue
    const priced = prices === undefined ? undefined : findPriced(prices, provider, model)
    if (priced === undefined) unpriced.push(model)
    else if (!canDo(priced.kind)) continue
    else if (priced.deprecatedAt === undefined || priced.deprecatedAt > today) models.push({ vendor, model, priced })
  }
  return { models, unpriced }
}
