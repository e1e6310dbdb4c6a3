/** Each search vendor's wire, by its documentation; recorded replies where there are some. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { objectsAt, parseObject } from "../../../src/dialects/parse/json.ts"
import { normalise, searchRefusal } from "../../../src/dialects/search/dialect.ts"
import { searchDialectOf, searchVendors } from "../../../src/dialects/search/index.ts"
import type { WireRequest } from "../../../src/dialects/wire.ts"
import { recordingsOf } from "../../support/recorded/recordings.ts"

const dialect = (vendor: string) => {
  const found = searchDialectOf(vendor)
  if (found === undefined) throw new Error(`there is no dialect ${vendor}`)
  return found
}
const query = { query: "river & lake", count: 5 }

describe("encode", () => {
  it.each<[string, Partial<WireRequest>, object | undefined]>([
    [
      "brave",
      {
        method: "GET",
        path: "/res/v1/web/search?q=river+%26+lake&count=5",
        headers: { accept: "application/json", "x-subscription-token": "k" },
      },
      undefined,
    ],
    [
      "tavily",
      { path: "/search", headers: { accept: "application/json", authorization: "Bearer k" } },
      { query: "river & lake", max_results: 5 },
    ],
    [
      "serper",
      { path: "/search", headers: { accept: "application/json", "x-api-key": "k" } },
      { q: "river & lake", num: 5 },
    ],
    [
      "exa",
      { path: "/search", headers: { accept: "application/json", "x-api-key": "k" } },
      { query: "river & lake", numResults: 5, contents: { text: { maxCharacters: 1000 } } },
    ],
    [
      "searxng",
      { method: "GET", path: "/search?q=river+%26+lake&format=json", headers: { accept: "application/json" } },
      undefined,
    ],
    [
      "bocha",
      { path: "/v1/web-search", headers: { accept: "application/json", authorization: "Bearer k" } },
      { query: "river & lake", count: 5, summary: true },
    ],
  ])("%s", (vendor, wire, body) => {
    const { authorize, encode } = dialect(vendor)
    const encoded = encode(query)
    expect({ ...encoded, headers: { ...encoded.headers, ...authorize("k") } }).toMatchObject(wire)
    expect(encoded.body === "" ? undefined : JSON.parse(encoded.body)).toEqual(body)
  })
})

describe("decode", () => {
  const one = [{ title: "T", url: "https://x.test/", snippet: "S" }]
  it.each([
    ["brave", { query: {}, web: { results: [{ title: "T", url: "https://x.test/", description: "S" }] } }, one],
    ["brave", { query: { original: "x" } }, []],
    ["tavily", { results: [{ title: "T", url: "https://x.test/", content: "S" }] }, one],
    ["serper", { organic: [{ title: "T", link: "https://x.test/", snippet: "S" }] }, one],
    ["exa", { results: [{ title: "T", url: "https://x.test/", text: "S" }] }, one],
    ["searxng", { results: [{ title: "T", url: "https://x.test/", content: "S" }] }, one],
    ["bocha", { data: { webPages: { value: [{ name: "T", url: "https://x.test/", summary: "S" }] } } }, one],
    ["bocha", { data: { webPages: { value: [{ name: "T", url: "https://x.test/", snippet: "S" }] } } }, one],
  ])("%s reads %j", (vendor, body, results) => {
    expect(dialect(vendor).decode(body)).toEqual(results)
  })

  it.each(searchVendors)("%s: a reply of another shape is refused", (vendor) => {
    for (const body of [{}, { results: "x" }, { web: [] }, { data: null }, { error: "no" }]) {
      expect(dialect(vendor).decode(body)).toBeUndefined()
    }
  })

  it.prop("any object is an outcome", [Schema.JsonObject], ([body]) => {
    for (const vendor of searchVendors) {
      const results = dialect(vendor).decode(body)
      expect(results === undefined || Array.isArray(results)).toBe(true)
    }
  })

  const recordings = recordingsOf("search-tavily")
  it.skipIf(recordings.length === 0)("recorded replies are read whole", () => {
    for (const [file, { response }] of recordings) {
      const body = parseObject(response.body) ?? {}
      expect(dialect("tavily").decode(body)?.length, file).toBe(objectsAt(body, "results").length)
    }
  })
})

describe("normalise", () => {
  const snippetOf = (snippet: string) => normalise([{ title: "t", url: "https://x.test", snippet }], 5)[0]?.snippet

  it("cuts a snippet at 1000 characters, and never inside a code point", () => {
    expect(snippetOf("x".repeat(1000))).toBe("x".repeat(1000))
    expect(snippetOf("x".repeat(1001))).toBe("x".repeat(1000))
    const waves = snippetOf("🌊".repeat(1001)) ?? ""
    expect([...waves].length).toBe(1000)
    expect(waves.isWellFormed()).toBe(true)
  })

  it.prop("never gives half a character or more than 1000", [Schema.String], ([text]) => {
    const snippet = snippetOf(`${text}🌊`.repeat(400)) ?? ""
    expect([...snippet].length).toBeLessThanOrEqual(1000)
    expect(snippet.endsWith("\ud83c")).toBe(false)
  })

  it.each([
    ["<strong>river</strong> bank", "river bank"],
    ["a &amp; b &lt;c&gt; &#39;d&#x27; &nbsp;e", "a & b <c> 'd' e"],
    ["two\n  lines\t", "two lines"],
    ["1 < 2 and 3 > 2", "1 < 2 and 3 > 2"],
    ["&#0;&#99999999;&unknown;", "&#0;&#99999999;&unknown;"],
  ])("%j is %j", (text, plain) => {
    expect(snippetOf(text)).toBe(plain)
  })

  it("leaves out results that cannot be opened, and returns as many as requested", () => {
    const results = ["javascript:alert(1)", "https://a.test", "ftp://b.test", "http://c.test", "https://d.test"].map(
      (url) => ({ title: "t", url, snippet: "" }),
    )
    expect(normalise(results, 2).map(({ url }) => url)).toEqual(["https://a.test", "http://c.test"])
  })
})

describe("the code of a refusal", () => {
  it.each([
    [`{"code":"quota"}`, "quota"],
    [`{"code":429}`, "429"],
    [`{"error":"the key sk-secret is wrong"}`, "unknown"],
    [`{"type":"ErrorResponse","error":{"message":"secret"}}`, "ErrorResponse"],
    ["<html>", "unknown"],
  ])("of %s is %s", (body, code) => {
    expect(searchRefusal(400, body).code).toBe(code)
  })
})
