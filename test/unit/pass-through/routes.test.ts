/** The route for a request, the ids that it may name, and the places of a reply. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { idsInPath, namedIn } from "../../../src/pass-through/named-ids.ts"
import { readPlace, valuesAt } from "../../../src/pass-through/reply-path.ts"
import { matchPath, parsePattern } from "../../../src/pass-through/route-path.ts"
import { findRoute, readRoute } from "../../../src/pass-through/routes.ts"
import { PassThrough as Declared, type PassThrough } from "../../../src/protocol/catalogue/pass-through.ts"
import { knownRoutes } from "../../../src/setup/known-routes.ts"

const route = (id: string, path: string, more: Partial<PassThrough> = {}) =>
  readRoute({ id, vendor: "v", path, methods: ["GET"], price: "free", ...more }, undefined)

describe("a pattern", () => {
  it.each([
    ["/a/**", "/a", true],
    ["/a/**", "/a/b/c", true],
    ["/a/*", "/a", false],
    ["/a/*", "/a/b", true],
    ["/a/*", "/a/b/c", false],
    ["/a/*/c", "/a/b/c", true],
    ["/a/*/c/**", "/a/b/c/d/e", true],
    ["/a/**", "/ab", false],
    ["/a/**", "/a//b", false],
    ["/a/**", "/a/", false],
    ["/a/**", "/a/../b", false],
    ["/a/**", "/a/%2e%2e/b", false],
    ["/a/**", "/a/b%2fc", false],
    ["/a/**", "/a/b%5cc", false],
    ["/a/**", "/a/b%00", false],
    ["/a/**", "/a/b%0d%0a", false],
    ["/a/**", "/a/%zz", false],
    ["/a/**", "/%61/b", true],
    ["/a/**", "/A/b", true],
    ["/a/**", "/a/b;c=d", false],
    ["/a/**", "/a/b%3Bc", false],
    ["/a/**", "/a/b%20", false],
  ])("%s and %s: %s", (pattern, path, fits) => {
    expect(matchPath(parsePattern(pattern), path) !== undefined).toBe(fits)
  })
})

describe("the route of a request", () => {
  const routes = [
    route("all", "/a/**", { mount: "openai" }),
    route("one", "/a/*", { mount: "openai" }),
    route("named", "/a/b", { mount: "openai", methods: ["POST"] }),
    route("wide", "/s/**", { methods: ["GET", "POST"] }),
    route("search", "/s/*/search", { methods: ["POST"] }),
    route("of-another", "/s/*/search", { methods: ["POST"], vendor: "w" }),
  ]
  const idOf = (method: string, url: string) => {
    const found = findRoute(routes, method, url)
    if (found === undefined) return undefined
    return "methods" in found ? found.methods : [found.route.declared.id, found.path]
  }

  it.each([
    ["GET", "/openai/v1/a/b/c", ["all", "/a/b/c"]],
    ["GET", "/openai/v1/a/x", ["one", "/a/x"]],
    ["POST", "/openai/v1/a/b", ["named", "/a/b"]],
    ["GET", "/pass/all/a", ["all", "/a"]],
    ["POST", "/pass/wide/s/x/search", ["search", "/s/x/search"]],
    ["POST", "/pass/wide/s/x/Search", ["search", "/s/x/Search"]],
    ["POST", "/pass/wide/s/x/search;a=b", undefined],
    ["POST", "/pass/wide/s/x/y", ["wide", "/s/x/y"]],
    ["GET", "/pass/wide/s/x/search", ["wide", "/s/x/search"]],
    ["POST", "/pass/of-another/s/x/search", ["of-another", "/s/x/search"]],
    ["GET", "/pass/search/s/x", undefined],
    ["POST", "/openai/v1/a/x", ["GET"]],
    ["GET", "/anthropic/a/x", undefined],
    ["GET", "/pass/all", undefined],
    ["GET", "/pass/allx/a", undefined],
  ])("%s %s", (method, url, found) => {
    expect(idOf(method, url)).toEqual(found)
  })
})

describe("a known route", () => {
  const routes = (["openai", "gemini"] as const).flatMap(knownRoutes).map((each) => readRoute(each, undefined))

  it.each([
    ["POST", "/gemini/v1beta/tunedModels/mine:generateContent", "tuned-model-calls-v1beta"],
    ["POST", "/pass/tuned-models-v1beta/v1beta/tunedModels/mine:streamGenerateContent", "tuned-model-calls-v1beta"],
    ["POST", "/pass/vector-stores/vector_stores/vs_1/search", "vector-store-search"],
    ["POST", "/pass/threads/threads/runs", "new-thread-runs"],
  ])("is not free where it runs a model: %s %s", (method, url, id) => {
    const found = findRoute(routes, method, url)
    expect(found !== undefined && "route" in found ? [found.route.declared.id, found.route.prices] : found).toEqual([
      id,
      expect.anything(),
    ])
  })
})

describe("a header that is passed on", () => {
  const fits = Schema.is(Declared)
  it.each(["content-encoding", "accept-encoding", "te", "upgrade", "expect", "keep-alive", "trailer", "cookie"])(
    "is not %s",
    (header) => {
      const declared = { id: "a", vendor: "v", path: "/a/**", methods: ["GET"], price: "free" }
      expect([fits({ ...declared, headers: ["x-team"] }), fits({ ...declared, headers: [header] })]).toEqual([
        true,
        false,
      ])
    },
  )
})

describe("ids in a path", () => {
  const segments = (pattern: string, path: string) => matchPath(parsePattern(pattern), path) ?? []

  it("are the segments that their pattern does not name", () => {
    const ids = idsInPath(segments("/stores/**", "/stores/rivers/file_batches"))
    expect(ids.map(({ spellings: [id] }) => id)).toEqual(["rivers", "file_batches"])
  })

  it("may be the names of resources, and have a method behind them", () => {
    const [id] = idsInPath(segments("/v1beta/fileSearchStores/**", "/v1beta/fileSearchStores/my-1:importFile"))
    expect(id?.spellings).toContain("fileSearchStores/my-1")
    const tuned = idsInPath(segments("/models/*", "/models/ft:gpt-4o:org::abc"))
    expect(tuned[0]?.spellings).toContain("ft:gpt-4o:org::abc")
  })
})

describe("texts that may be ids", () => {
  const nothing = { segments: [], query: "", headers: {}, json: undefined, text: undefined }
  const id = "vs_0123456789abcdef"

  it.each([
    ["a value", { json: { a: [{ b: id }] } }],
    ["a name", { json: { [id]: 1 } }],
    ["an address", { json: { a: `https://h/v1/stores/${id}/files` } }],
    ["a sentence", { json: { a: `Look at ${id}.` } }],
    ["JSON in a string", { json: { a: JSON.stringify({ a: id }) } }],
    ["a query", { query: `a=1&after=${id}` }],
    ["an encoded query", { query: "after=vs%5F0123456789abcdef" }],
    ["a query that is encoded twice", { query: "after=vs%255F0123456789abcdef" }],
    ["a header", { headers: { "x-store": id } }],
    ["a text", { text: `name=${id}` }],
    ["a query that is encoded three times", { query: "after=vs%25255F0123456789abcdef" }],
    ["a query with what is no encoding", { query: "after=vs%5F0123456789abcdef,%zz" }],
    ["a query with bytes that are no UTF-8", { query: "after=vs%5F0123456789abcdef%FF" }],
    ["JSON in a query", { query: 'filter={"a":"vs%5Cu005f0123456789abcdef"}' }],
    ["an encoded address", { json: { a: "https://h/v1/stores/vs%5F0123456789abcdef" } }],
    ["escaped JSON in a string", { json: { a: String.raw`{"a":"vs\u005f0123456789abcdef"}` } }],
    ["escaped JSON in a text", { text: String.raw`{"a":"vs\u005F0123456789abcdef"}` }],
    ["UTF-16", { text: [...`{"a":"${id}"}`].join("\0") }],
    ["XML", { text: "<a>vs&#x5f;0123456789abcdef</a><b>vs&#95;1</b>" }],
    ["a list in a path", { segments: [`a,${id}`] }],
    ["a parameter of a path", { segments: [`${id};a=b`] }],
    ["a line", { text: `a\r\n${id}\n` }],
  ])("are found in %s", (_, sent) => {
    expect(namedIn({ ...nothing, ...sent })?.has(id)).toBe(true)
  })

  it("are found in any case, and with words behind them, if they are UUIDs", () => {
    const own = "0b8f4f6e-30d6-4a57-9f0e-1f2d3c4b5a69"
    for (const json of [own.toUpperCase(), `${own}-ft`, `job-${own.toUpperCase()}`]) {
      expect(namedIn({ ...nothing, json })?.has(own)).toBe(true)
    }
  })

  it("are found with any characters around them that ids do not have", () => {
    for (const around of [
      " ",
      "\n",
      '"',
      "'",
      "(",
      ")",
      ",",
      "<",
      ">",
      "=",
      "\u00a0",
      "é",
      "|",
      ";",
      "\\",
      "`",
      "{",
      "[",
      "#",
    ]) {
      expect([around, namedIn({ ...nothing, json: `a${around}${id}${around}b` })?.has(id)]).toEqual([around, true])
    }
  })

  it("are refused if there are too many", () => {
    expect(namedIn({ ...nothing, json: Array.from({ length: 60_000 }, (_, at) => `id_${at}`) })).toBeUndefined()
  })

  it("are found behind many slashes, and not in the content of files", () => {
    expect(namedIn({ ...nothing, json: `${"a/".repeat(400)}${id}` })?.has(id)).toBe(true)
    const file = Buffer.from(Array.from({ length: 1e6 }, (_, at) => (at * 7919) % 256)).toString("base64")
    expect(namedIn({ ...nothing, json: { document: `data:image/png;base64,${file}` } })?.size).toBe(1)
  })

  it.each(["/", "a/", ":", "a:", "-_", "1/"])("are looked for in a million of %s", (text) => {
    namedIn({ ...nothing, json: { text: `${text.repeat(5e5)}.` } })
  })
})

describe("a place in a reply", () => {
  it.each([
    ["$.id", { id: "a" }, ["a"]],
    ["$.data[*].id", { data: [{ id: "a" }, {}, { id: "b" }, null] }, ["a", "b"]],
    ["$[*].id", [{ id: "a" }], ["a"]],
    ["$.a.b", { a: [{ b: 1 }] }, []],
    ["$.__proto__", {}, []],
    ["$.id", null, []],
  ])("%s of %j", (place, json, values) => {
    expect(valuesAt(json, readPlace(place)).map(({ value }) => value)).toEqual(values)
  })
})
