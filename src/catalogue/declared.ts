/** Entries that a catalogue declares beside the platform, with only those that changed. Pure. */
import { Schema } from "effect"
import { Topup } from "../protocol/catalogue/document.ts"
import { Key } from "../protocol/catalogue/tenant.ts"
import type { TenantKind } from "../protocol/control/tenants.ts"
import { type Change, entryName, isList, type JsonDocument } from "./diff.ts"

export interface TenantName {
  readonly kind: TenantKind
  readonly id: string
}

/** A tenant as the database has it. */
export interface DeclaredTenant extends TenantName {
  readonly org: string
  readonly document: Schema.Json
}

export interface DeclaredKey extends Schema.Schema.Type<typeof Key> {
  /** Its index among the keys. */
  readonly at: number
  /** The line of its secret in the text. */
  readonly line: number
}

export interface DeclaredTopup extends Schema.Schema.Type<typeof Topup> {
  readonly currency: string
}

export interface Declared {
  /** Tenants that are new or changed. */
  readonly changed: ReadonlyArray<DeclaredTenant>
  readonly removed: ReadonlyArray<TenantName>
  /** The keys that are new or changed, and keys that are not stored as the catalogue in force says. */
  readonly keys: ReadonlyArray<DeclaredKey>
  /** The top-ups that are new or changed: the others were credited with the catalogue in force. */
  readonly topups: ReadonlyArray<DeclaredTopup>
  /** References to the secrets of organisations' identity providers. */
  readonly credentials: ReadonlyArray<{ readonly id: string; readonly credential: string }>
}

export const nothingDeclared: Declared = { changed: [], removed: [], keys: [], topups: [], credentials: [] }

/** The sections of tenants, with the member that names the organisation. */
const sections = [
  { section: "orgs", kind: "org", orgIn: "id" },
  { section: "teams", kind: "team", orgIn: "org" },
  { section: "users", kind: "user", orgIn: "org" },
  { section: "apps", kind: "app", orgIn: "org" },
] as const

/** The stored state of the keys of a text. */
export interface KeysOfText {
  /** Keys that are not stored as the catalogue in force says. */
  readonly stray: ReadonlySet<string>
  /** The line of the secret of the key at this index. */
  readonly lineOf: (at: number) => number
}

export const declaredOf = (
  document: JsonDocument,
  changes: ReadonlyArray<Change>,
  { stray, lineOf }: KeysOfText,
): Declared => {
  const isWritten = new Set(changes.flatMap(({ entry, change }) => (change === "removed" ? [] : [entry])))
  const orgs = itemsOf(document, "orgs")
  const currencies = new Map(orgs.map((org) => [textIn(org, "id"), textIn(org, "currency")]))
  return {
    changed: sections.flatMap(({ section, kind, orgIn }) =>
      itemsOf(document, section).flatMap((item) =>
        isWritten.has(entryName(section, item))
          ? [{ kind, id: textIn(item, "id"), org: textIn(item, orgIn), document: item }]
          : [],
      ),
    ),
    removed: changes.flatMap(({ entry, change }) => (change === "removed" ? tenantOf(entry) : [])),
    keys: itemsOf(document, "keys").flatMap((item, at) =>
      isWritten.has(entryName("keys", item)) || stray.has(textIn(item, "id"))
        ? [{ ...decodeKey(item), at, line: lineOf(at) }]
        : [],
    ),
    topups: decodeTopups(itemsOf(document, "topups").filter((item) => isWritten.has(entryName("topups", item)))).map(
      (topup) => ({ ...topup, currency: currencies.get(topup.org) ?? "" }),
    ),
    credentials: orgs.flatMap((org) => {
      const credential = textIn(memberOf(org, "sso"), "clientSecret")
      return credential === "" ? [] : [{ id: textIn(org, "id"), credential }]
    }),
  }
}

/** The tenant of an entry such as `orgs/acme`. */
const tenantOf = (entry: string): ReadonlyArray<TenantName> => {
  const slash = entry.indexOf("/")
  const kind = sections.find(({ section }) => section === entry.slice(0, slash))?.kind
  return kind === undefined ? [] : [{ kind, id: entry.slice(slash + 1) }]
}

/**
 * The slices of a declaration, for messages between threads.
 * @param size the entries of a slice
 */
export function* slicesOf(declared: Declared, size: number): Generator<Declared> {
  const lists = Object.values(declared).map(({ length }) => length)
  for (let from = 0; from < Math.max(...lists); from += size) {
    const slice = <A>(list: ReadonlyArray<A>) => list.slice(from, from + size)
    yield {
      changed: slice(declared.changed),
      removed: slice(declared.removed),
      keys: slice(declared.keys),
      topups: slice(declared.topups),
      credentials: slice(declared.credentials),
    }
  }
}

export const joinDeclared = (a: Declared, b: Declared): Declared => ({
  changed: [...a.changed, ...b.changed],
  removed: [...a.removed, ...b.removed],
  keys: [...a.keys, ...b.keys],
  topups: [...a.topups, ...b.topups],
  credentials: [...a.credentials, ...b.credentials],
})

const itemsOf = (document: JsonDocument, section: string): ReadonlyArray<Schema.Json> => {
  const list = document[section]
  return isList(list) ? list : []
}

const memberOf = (item: Schema.Json | undefined, member: string): Schema.Json | undefined =>
  typeof item === "object" && item !== null && !isList(item) ? item[member] : undefined

const textIn = (item: Schema.Json | undefined, member: string): string => {
  const value = memberOf(item, member)
  return typeof value === "string" ? value : ""
}

const decodeKey = Schema.decodeUnknownSync(Key)
const decodeTopups = Schema.decodeUnknownSync(Schema.Array(Topup))
