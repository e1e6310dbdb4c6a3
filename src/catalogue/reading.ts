/** Reads a catalogue, from a text or as it is stored, and compares it with the one in force. Pure. */
import { Result, Schema } from "effect"
import { fingerprint } from "../protocol/canonical.ts"
import { PlatformDocument } from "../protocol/catalogue.ts"
import { type Declared, declaredOf, type KeysOfText } from "./declared.ts"
import { type Change, changesOf, entriesOf, type JsonDocument } from "./diff.ts"
import { type CatalogueIssue, loadCatalogue } from "./load.ts"
import { orderOf, type Patch } from "./patch.ts"

export interface Reading extends Patch {
  /** As it is stored: JSON in UTF-8. */
  readonly json: Uint8Array
  readonly fingerprint: string
  readonly changes: ReadonlyArray<Change>
  readonly declared: Declared
}

/**
 * @param known the catalogue in force, as it is stored; empty if there is none
 * @param stray keys that are not stored as it says
 */
export const readText = (
  text: string,
  known: Uint8Array,
  stray: ReadonlySet<string> = none,
): Result.Result<Reading, ReadonlyArray<CatalogueIssue>> =>
  Result.map(loadCatalogue(text), ({ encoded, lineOf }) =>
    compare(new TextEncoder().encode(JSON.stringify(encoded)), known, {
      stray,
      lineOf: (at) => lineOf(["keys", at, "secret"]),
    }),
  )

const none: ReadonlySet<string> = new Set()

/**
 * Reads a catalogue, or the platform's part of one. Throws if this version cannot read it.
 * @param known the same of the catalogue in force
 */
export const readStored = (json: Uint8Array, known: Uint8Array): Reading =>
  compare(json, known, { stray: none, lineOf: () => 1 })

const compare = (json: Uint8Array, known: Uint8Array, keys: KeysOfText): Reading => {
  const document = decodeJson(json)
  const before = known.length === 0 ? {} : decodeJson(known)
  const [entriesBefore, entries] = [entriesOf(before), entriesOf(document)]
  const { order, news } = orderOf(document, before, entriesBefore, entries)
  const changes = changesOf(entriesBefore, entries)
  return {
    json,
    fingerprint: fingerprint(document),
    changes,
    order,
    news: decodePlatform(news),
    declared: declaredOf(document, changes, keys),
  }
}

/** What this gateway has written. */
const decodeJson = (json: Uint8Array): JsonDocument => JSON.parse(new TextDecoder().decode(json))
/** Leaves out what is not the platform's. */
const decodePlatform = Schema.decodeUnknownSync(PlatformDocument)
