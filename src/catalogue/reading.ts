/** Reads a catalogue, from a text or as it is stored, and compares it with the one in force. Pure. */
import { Result, Schema } from "effect"
import { PlatformDocument } from "../protocol/catalogue/document.ts"
import { fingerprint } from "../protocol/values/canonical.ts"
import { type Declared, declaredOf, type KeysOfText } from "./declared.ts"
import { type Change, changesOf, entriesOf, type JsonDocument } from "./diff.ts"
import { droppedOf, namesOf, withDropped } from "./dropped.ts"
import { type CatalogueIssue, loadCatalogue } from "./load.ts"
import { orderOf, type Patch } from "./patch.ts"

export interface Reading extends Patch {
  /** The document in its stored form: JSON in UTF-8. */
  readonly json: Uint8Array
  readonly fingerprint: string
  readonly changes: ReadonlyArray<Change>
  readonly declared: Declared
  /** Entries that the text no longer contains, and that only {@link TextOptions.prune} removes. */
  readonly dropped: ReadonlyArray<string>
}

export interface TextOptions {
  /** Keys that are not stored as the catalogue in force says. */
  readonly stray?: ReadonlySet<string>
  /** Whether dropped entries are removed; otherwise they stay as they are. */
  readonly prune?: boolean
}

/**
 * @param known the catalogue in force, as it is stored; empty if there is none
 */
export const readText = (
  text: string,
  known: Uint8Array,
  { stray = none, prune = false }: TextOptions = {},
): Result.Result<Reading, ReadonlyArray<CatalogueIssue>> =>
  Result.flatMap(loadCatalogue(text), ({ encoded, lineOf }) => {
    const before = known.length === 0 ? {} : decodeJson(known)
    const document: JsonDocument = JSON.parse(JSON.stringify(encoded))
    const dropped = droppedOf(document, before)
    const names = namesOf(dropped)
    const keys = {
      stray: stray.difference(new Set(names.flatMap(keyOf))),
      lineOf: (at: number) => lineOf(["keys", at, "secret"]),
    }
    const whole = names.length === 0 || prune ? Result.succeed(document) : withDropped(document, dropped)
    return Result.map(whole, (document) => ({
      ...compare(new TextEncoder().encode(JSON.stringify(document)), document, before, keys),
      dropped: names,
    }))
  })

/** The id of an entry that is a key: one that stays is not stored again. */
const keyOf = (entry: string) => (entry.startsWith("keys/") ? [entry.slice("keys/".length)] : [])

const none: ReadonlySet<string> = new Set()

/**
 * Reads a catalogue, or the platform's part of one. Throws if this version cannot read it.
 * @param known the same of the catalogue in force
 */
export const readStored = (json: Uint8Array, known: Uint8Array): Reading =>
  compare(json, decodeJson(json), known.length === 0 ? {} : decodeJson(known), { stray: none, lineOf: () => 1 })

/** @param json the document, as it is stored */
const compare = (json: Uint8Array, document: JsonDocument, before: JsonDocument, keys: KeysOfText): Reading => {
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
    dropped: [],
  }
}

/** Decodes JSON that this gateway has written. */
const decodeJson = (json: Uint8Array): JsonDocument => JSON.parse(new TextDecoder().decode(json))
/** Leaves out the parts that are not the platform's. */
const decodePlatform = Schema.decodeUnknownSync(PlatformDocument)
