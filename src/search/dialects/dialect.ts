/** What a search vendor's dialect is: pure translation between a query and one vendor's wire. */
import type { SearchResult } from "../../protocol/search.ts"
import { type JsonObject, parseObject, stringAt } from "../../vendor/dialects/json.ts"

export interface SearchQuery {
  readonly query: string
  /** How many results, at most. */
  readonly count: number
}

export interface SearchWire {
  readonly method: "GET" | "POST"
  /** Appended to the provider's base URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty for GET. */
  readonly body: string
}

export interface SearchDialect {
  /** Whether calls need a credential. */
  readonly needsCredential: boolean
  readonly encode: (query: SearchQuery, credential: string) => SearchWire
  /** The results as they came; undefined where the reply is not the vendor's shape. */
  readonly decode: (body: JsonObject) => ReadonlyArray<SearchResult> | undefined
}

export const post = (path: string, headers: Readonly<Record<string, string>>, body: object): SearchWire => ({
  method: "POST",
  path,
  headers: { accept: "application/json", ...headers },
  body: JSON.stringify(body),
})

export const get = (
  path: string,
  headers: Readonly<Record<string, string>>,
  parameters: Readonly<Record<string, string>>,
): SearchWire => ({
  method: "GET",
  path: `${path}?${new URLSearchParams(parameters)}`,
  headers: { accept: "application/json", ...headers },
  body: "",
})

/** Results with a title and a URL; the others are nobody's. */
export const resultsOf = (
  items: ReadonlyArray<JsonObject>,
  fields: {
    readonly title: string
    readonly url: string
    /** The first of these that says something. */
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

/** The longest snippet that is given, in characters (code points). */
const maxSnippet = 1000
const maxTitle = 300

/** One form for what all vendors give: plain text on one line, of bounded length, with a URL that can be opened. */
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

/** Without markup: vendors mark the words that were found. */
const plain = (text: string): string =>
  text
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
      if (Number.isNaN(code)) return entities[String(name).toLowerCase()] ?? whole
      return code <= 0x10ffff && code > 0 ? String.fromCodePoint(code) : whole
    })
    .replace(/\s+/g, " ")
    .trim()

/** Cuts between characters, never inside one. */
const cut = (text: string, length: number): string =>
  text.length <= length ? text : [...text].slice(0, length).join("")

/** A vendor's machine code for why it refused; its words stay inside. */
export const refusalCode = (body: string): string => {
  const json = parseObject(body)
  const found = [json?.["code"], json?.["error"], json?.["type"], json?.["tag"]].find(
    (code) => (typeof code === "string" && /^[A-Za-z0-9_.-]{1,64}$/.test(code)) || typeof code === "number",
  )
  return found === undefined ? "unknown" : String(found)
}
