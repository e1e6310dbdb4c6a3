/** Reads a catalogue, from a text or as it is stored, and compares it with the one in force. Pure. */
import { Result, Schema } from "effect"
import { fingerprint } from "../protocol/canonical.ts"
import { CatalogueDocument } from "../protocol/catalogue.ts"
import { type Change, changesOf, entriesOf, type JsonDocument } from "./diff.ts"
import { type CatalogueIssue, loadCatalogue } from "./load.ts"
import { orderOf, type Patch } from "./patch.ts"

export interface Reading extends Patch {
  /** As it is stored. */
  readonly json: string
  readonly fingerprint: string
  readonly changes: ReadonlyArray<Change>
  /** The lines of the keys' secrets in the text. */
  readonly keyLines: ReadonlyArray<number>
}

/** @param known the catalogue in force, as it is stored; empty if there is none */
export const readText = (text: string, known: string): Result.Result<Reading, ReadonlyArray<CatalogueIssue>> =>
  Result.map(loadCatalogue(text), ({ document, encoded, lineOf }) => {
    const keyLines = (document.keys ?? []).map((_, at) => lineOf(["keys", at, "secret"]))
    return { ...compare(JSON.stringify(encoded), known), keyLines }
  })

/** Throws if this version cannot read it. */
export const readStored = (json: string, known: string): Reading => ({ ...compare(json, known), keyLines: [] })

const compare = (json: string, known: string): Omit<Reading, "keyLines"> => {
  const document = decodeJson(json)
  const before = decodeJson(known === "" ? "{}" : known)
  const [entriesBefore, entries] = [entriesOf(before), entriesOf(document)]
  const { order, news } = orderOf(document, before, entriesBefore, entries)
  return {
    json,
    fingerprint: fingerprint(document),
    changes: changesOf(entriesBefore, entries),
    order,
    news: decodeDocument(news),
  }
}

/** What this gateway has written. */
const decodeJson = (json: string): JsonDocument => JSON.parse(json)
const decodeDocument = Schema.decodeUnknownSync(CatalogueDocument)
