/** A search vendor's dialect: pure translation between a query and one vendor's API. */

import type { SearchResult } from "../../protocol/kinds/search.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type JsonObject, objectAt, parseObject, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"
import type { WireRequest } from "../wire.ts"

export interface SearchQuery {
  readonly query: string
  /** Maximum results. */
  readonly count: number
}

/** A search vendor's API. */
export interface SearchDialect {
  /** Whether calls need a credential. */
  readonly needsCredential: boolean
  /** Headers that carry the credential. */
  readonly authorize: (credential: string) => Readonly<Record<string, string>>
  readonly encode: (query: SearchQuery) => WireRequest
  /** The results; undefined if the reply is not the vendor's format. */
  readonly decode: (body: JsonObject) => ReadonlyArray<SearchResult> | undefined
}

export const post = (path: string, body: object): WireRequest => ({
  path,
  headers: { accept: "application/json" },
  body: JSON.stringify(body),
})

export const get = (path: string, parameters: Readonly<Record<string, string>>): WireRequest => ({
  method: "GET",
  path: `${path}?${new URLSearchParams(parameters)}`,
  headers: { accept: "application/json" },
  body: "",
})

/** Keeps results that have a title and a URL. */
export const resultsOf = (
  items: ReadonlyArray<JsonObject>,
  fields: {
    readonly title: string
    readonly url: string
    /** The first non-empty value. */
    readonly snippet: ReadonlyArray<string>
  },
): ReadonlyArray<SearchResult> =>
  items.flatMap((item) => {
    const url = stringAt(item, fields.url)
    const title = stringAt(item, fields.title) || url
    if (!url || title === undefined) return []
    const snippet = fields.snippet.map((field) => stringAt(item, field)).find((text) => text) ?? ""
    return [{ title, url, snippet }]
  })

/** Maximum snippet length, in code points. */
const maxSnippet = 1000
const maxTitle = 300

/** Normalises results: plain text on one line, limited length, an http(s) URL. */
export const normalise = (results: ReadonlyArray<SearchResult>, count: number): ReadonlyArray<SearchResult> =>
  results
    .filter(({ url }) => /^https?:\/\//i.test(url))
    .slice(0, count)
    .map(({ title, url, snippet }) => ({
      title: cut(plain(title), maxTitle),
      url,
      snippet: cut(plain(snippet), maxSnippet),
    }))

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

/** Removes markup, with which vendors highlight matches. */
const plain = (text: string): string =>
  text
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
      if (Number.isNaN(code)) return entryOf(entities, String(name).toLowerCase()) ?? whole
      return code <= 0x10ffff && code > 0 ? String.fromCodePoint(code) : whole
    })
    .replace(/\s+/g, " ")
    .trim()

/** Truncates between code points. */
const cut = (text: string, length: number): string =>
  text.length <= length ? text : [...text].slice(0, length).join("")

/** The failure in a reply with an error status; its text is not used. */
export const searchRefusal = (status: number, body: string): VendorFault => {
  const json = parseObject(body)
  const places = [json?.["code"], objectAt(json, "error")?.["code"], json?.["error"], json?.["type"], json?.["tag"]]
  const found = places.find((code) => (typeof code === "string" && isCode.test(code)) || typeof code === "number")
  const text = stringAt(json, "message") ?? stringAt(json, "error")
  return faultBy(faults, { status, codes: [found === undefined ? undefined : String(found)], text })
}

const isCode = /^[A-Za-z0-9_.-]{1,64}$/

const faults: FaultTable = {
  codes: {
    // https://api-dashboard.search.brave.com/app/documentation/web-search/responses
    SUBSCRIPTION_TOKEN_INVALID: "credential",
    // https://docs.exa.ai/reference/error-codes
    NO_MORE_CREDITS: "credit",
  },
  // https://serper.dev
  texts: [[/not enough credits/i, "credit"]],
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  statuses: { 432: "credit", 433: "credit" },
}
