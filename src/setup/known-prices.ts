/** The prices that come with Weir, for models of known vendors: a dated part of LiteLLM's price file (MIT). */
import { existsSync, readFileSync } from "node:fs"
import { Schema } from "effect"
import { type PriceFile, readPriceEntries } from "./price-file.ts"

const KnownPrices = Schema.fromJsonString(
  Schema.Struct({ date: Schema.String, source: Schema.String, licence: Schema.String, models: Schema.JsonObject }),
)

export interface DatedPrices {
  /** The day of the file, e.g. `2026-10-21`. */
  readonly date: string
  readonly prices: PriceFile
}

/** Reads them: from the package's file, or from the one beside this module. */
export const readKnownPrices = (): DatedPrices => {
  const built = new URL("../known-prices.json", import.meta.url)
  const file = existsSync(built) ? built : new URL("./known-prices.json", import.meta.url)
  const { date, models } = Schema.decodeUnknownSync(KnownPrices)(readFileSync(file, "utf8"))
  return { date, prices: readPriceEntries(models) }
}
