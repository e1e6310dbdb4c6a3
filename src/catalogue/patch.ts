/**
 * The difference between the platform's part of a catalogue and the one in force: entries that did not change stay the
 * same objects, so that the cost of taking up a change depends on its size. Pure.
 */
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import { type Entries, entryName, isList, type JsonDocument } from "./diff.ts"
import { platformSectionsWithId } from "./references.ts"

/** Sections that are lists of entries. */
const listNames = ["models", "prices", "deliverableSettings", ...platformSectionsWithId] as const
type ListName = (typeof listNames)[number]

/** For each list of the new document, the index of each entry in the known list; -1 takes the next new entry. */
export type Order = Partial<Record<ListName, Int32Array>>

export interface Patch {
  /** All parts that are no list, and the new and changed entries of the lists. */
  readonly news: PlatformDocument
  readonly order: Order
}

/** The origin of each entry of a document, and the entries that are not known. */
export const orderOf = (
  document: JsonDocument,
  known: JsonDocument,
  knownEntries: Entries,
  entries: Entries,
): { readonly order: Order; readonly news: JsonDocument } => {
  const order: Order = {}
  const news: Record<string, JsonDocument[string]> = { ...document }
  for (const name of listNames) {
    const list = document[name]
    if (!isList(list)) continue
    const knownList = known[name]
    const places = new Map((isList(knownList) ? knownList : []).map((item, at) => [entryName(name, item), at]))
    const own = Int32Array.from(list, (item) => {
      const entry = entryName(name, item)
      return knownEntries.get(entry) === entries.get(entry) ? (places.get(entry) ?? -1) : -1
    })
    order[name] = own
    news[name] = list.filter((_, at) => own[at] === -1)
  }
  return { order, news }
}

/** The new document: entries that did not change are those of the known one. */
export const applyPatch = (known: PlatformDocument, { news, order }: Patch): PlatformDocument =>
  combine(known, news, (name, old = [], added = []) => {
    const places = order[name]
    if (places === undefined) return undefined
    const merged: Array<(typeof old)[number]> = []
    let next = 0
    for (const place of places) {
      const entry = place === -1 ? added[next++] : old[place]
      if (entry !== undefined) merged.push(entry)
    }
    return merged
  })

/** A document in parts of at most so many entries, each with all parts that are no list. */
export function* partsOf(document: PlatformDocument, size: number): Generator<PlatformDocument> {
  yield combine(document, document, () => undefined)
  for (const current of listNames) {
    const { length } = document[current] ?? []
    for (let from = 0; from < length; from += size) {
      yield combine(document, document, (name, list) => (name === current ? list?.slice(from, from + size) : undefined))
    }
  }
}

/** A document with the entries of one of its parts added. */
export const joinPart = (joined: PlatformDocument, part: PlatformDocument): PlatformDocument =>
  combine(joined, part, (_, list, more) => (list && more ? [...list, ...more] : (list ?? more)))

type Merge = <A>(
  name: ListName,
  a: ReadonlyArray<A> | undefined,
  b: ReadonlyArray<A> | undefined,
) => ReadonlyArray<A> | undefined

/** The second document, with each list made of both documents' lists. */
const combine = (a: PlatformDocument, b: PlatformDocument, merge: Merge): PlatformDocument => {
  const { version, timeouts, defaultSearchProvider, files } = b
  const vendors = merge("vendors", a.vendors, b.vendors)
  const models = merge("models", a.models, b.models)
  const prices = merge("prices", a.prices, b.prices)
  const deliverableSettings = merge("deliverableSettings", a.deliverableSettings, b.deliverableSettings)
  const searchProviders = merge("searchProviders", a.searchProviders, b.searchProviders)
  const plans = merge("plans", a.plans, b.plans)
  const policies = merge("policies", a.policies, b.policies)
  const budgets = merge("budgets", a.budgets, b.budgets)
  const webhooks = merge("webhooks", a.webhooks, b.webhooks)
  const exports = merge("exports", a.exports, b.exports)
  const passThrough = merge("passThrough", a.passThrough, b.passThrough)
  const toolServers = merge("toolServers", a.toolServers, b.toolServers)
  return {
    version,
    ...(timeouts && { timeouts }),
    ...(defaultSearchProvider !== undefined && { defaultSearchProvider }),
    ...(vendors && { vendors }),
    ...(models && { models }),
    ...(prices && { prices }),
    ...(deliverableSettings && { deliverableSettings }),
    ...(searchProviders && { searchProviders }),
    ...(plans && { plans }),
    ...(policies && { policies }),
    ...(budgets && { budgets }),
    ...(webhooks && { webhooks }),
    ...(exports && { exports }),
    ...(passThrough && { passThrough }),
    ...(toolServers && { toolServers }),
    ...(files && { files }),
  }
}
