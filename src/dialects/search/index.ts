/** Search vendors by their name in the catalogue. */
import { type JsonObject, objectAt, objectsAt } from "../parse/json.ts"
import { get, post, resultsOf, type SearchDialect } from "./dialect.ts"

const listed = (body: JsonObject | undefined, key: string): ReadonlyArray<JsonObject> | undefined =>
  Array.isArray(body?.[key]) ? objectsAt(body, key) : undefined

const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` })
const apiKey = (credential: string) => ({ "x-api-key": credential })

/** https://api-dashboard.search.brave.com/app/documentation/web-search */
const brave: SearchDialect = {
  needsCredential: true,
  authorize: (credential) => ({ "x-subscription-token": credential }),
  encode: ({ query, count }) => get("/res/v1/web/search", { q: query, count: String(count) }),
  decode: (body) => {
    // The reply to a query without results has no web section.
    const items = listed(objectAt(body, "web"), "results") ?? (objectAt(body, "query") === undefined ? undefined : [])
    return items && resultsOf(items, { title: "title", url: "url", snippet: ["description"] })
  },
}

/** https://docs.tavily.com/documentation/api-reference/endpoint/search */
const tavily: SearchDialect = {
  needsCredential: true,
  authorize: bearer,
  encode: ({ query, count }) => post("/search", { query, max_results: count }),
  decode: (body) => {
    const items = listed(body, "results")
    return items && resultsOf(items, { title: "title", url: "url", snippet: ["content"] })
  },
}

/** https://serper.dev */
const serper: SearchDialect = {
  needsCredential: true,
  authorize: apiKey,
  encode: ({ query, count }) => post("/search", { q: query, num: count }),
  decode: (body) => {
    const items = listed(body, "organic")
    return items && resultsOf(items, { title: "title", url: "link", snippet: ["snippet"] })
  },
}

/** https://docs.exa.ai/reference/search */
const exa: SearchDialect = {
  needsCredential: true,
  authorize: apiKey,
  encode: ({ query, count }) =>
    post("/search", { query, numResults: count, contents: { text: { maxCharacters: 1000 } } }),
  decode: (body) => {
    const items = listed(body, "results")
    return items && resultsOf(items, { title: "title", url: "url", snippet: ["summary", "text"] })
  },
}

/** https://docs.searxng.org/dev/search_api.html */
const searxng: SearchDialect = {
  needsCredential: false,
  authorize: () => ({}),
  encode: ({ query }) => get("/search", { q: query, format: "json" }),
  decode: (body) => {
    const items = listed(body, "results")
    return items && resultsOf(items, { title: "title", url: "url", snippet: ["content"] })
  },
}

/** https://open.bochaai.com */
const bocha: SearchDialect = {
  needsCredential: true,
  authorize: bearer,
  encode: ({ query, count }) => post("/v1/web-search", { query, count, summary: true }),
  decode: (body) => {
    const items = listed(objectAt(objectAt(body, "data"), "webPages"), "value")
    return items && resultsOf(items, { title: "name", url: "url", snippet: ["summary", "snippet"] })
  },
}

const vendors: Readonly<Record<string, SearchDialect>> = { brave, tavily, serper, exa, searxng, bocha }

/** Undefined for an unknown vendor. */
export const searchDialectOf = (vendor: string): SearchDialect | undefined =>
  Object.hasOwn(vendors, vendor) ? vendors[vendor] : undefined

export const searchVendors: ReadonlyArray<string> = Object.keys(vendors)
