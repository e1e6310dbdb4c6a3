/** The guide at `/docs`: pages, search, the reference of the API; nothing is fetched from elsewhere, and nothing is executed. */
import { describe, expect, it } from "vitest"
import { contents } from "../../../src/http/guide/contents.ts"
import { errorOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway().baseUrl}${path}`, { headers, redirect: "manual" })
const html = async (path: string) => {
  const reply = await get(path)
  expect(reply.status, path).toBe(200)
  expect(reply.headers.get("content-type")).toContain("text/html")
  return reply.text()
}

/** The results of a search; the menu beside them names every page. */
const hits = async (words: string): Promise<string> => {
  const page = await html(`/docs/search?q=${encodeURIComponent(words)}`)
  return /<ul class="hits">.*?<\/ul>/s.exec(page)?.[0] ?? ""
}

const paths = contents.flatMap(({ paths }) => paths)

/** The paths at the gateway that a page's relative links lead to. */
const linksOf = (page: string, path: string): ReadonlyArray<string> =>
  [...page.matchAll(/ href="([^"#]+)(?:#[^"]*)?"/g)]
    .map(([, href = ""]) => new URL(href, new URL(path, gateway().baseUrl)))
    .filter(({ origin }) => origin === new URL(gateway().baseUrl).origin)
    .map(({ pathname }) => pathname)

describe("the guide", () => {
  it("shows each page of its contents, small and without a script", async () => {
    for (const path of paths) {
      const page = await html(`/docs/${path}`)
      expect(page).toContain("<h1")
      expect(page).not.toMatch(/<script|<img|@import|url\(/i)
      expect(page.length, path).toBeLessThan(200_000)
    }
  })

  it("leads from each page, and from the API's, to pages that exist", async () => {
    const seen = new Set<string>()
    const waiting = ["/docs", "/docs/"]
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue
      seen.add(path)
      for (const link of linksOf(await html(path), path)) {
        if (link.startsWith("/docs")) waiting.push(link)
      }
    }
    expect(seen.size).toBeGreaterThan(paths.length + 100)
    for (const path of paths.filter((it) => it !== "index")) expect(seen).toContain(`/docs/${path}`)
  })

  it("finds sections by their words, by their beginnings, and with a slip", async () => {
    for (const words of ["timeouts environment", "timeou", "timeuots"])
      expect(await hits(words), words).toContain("docs/how-to/timeouts")
    expect(await hits("embeddings")).toContain("docs/api/")
    expect(await html("/docs/search?q=zzzzqqq")).toContain("Nothing matches")
  })

  it("answers the costliest questions in a moment", async () => {
    const letters = "a b c d e f g h i j k l m n o p q r s t u v w x y z ".repeat(4)
    await hits("river")
    const startedAt = performance.now()
    for (let count = 0; count < 100; count++) await hits(letters)
    expect(performance.now() - startedAt).toBeLessThan(3_000)
  })

  it.each(['"><script>alert(1)</script>', "\u0000\ud800", "a".repeat(10_000), ""])(
    "takes any question: %j",
    async (words) => {
      const page = await html(`/docs/search?q=${encodeURIComponent(words.toWellFormed())}`)
      expect(page).not.toContain("<script")
    },
  )

  it.each(["/docs/nope", "/docs/how-to", "/docs/../openapi", "/docs/__proto__", "/docs/api/schemas/constructor"])(
    "%s is not found",
    async (path) => {
      const reply = await fetch(`${gateway().baseUrl}${path}`)
      expect(reply.status).toBe(404)
      expect(await reply.json()).toMatchObject({ error: { code: "not_found" } })
    },
  )

  it("is compressed as the client accepts it, and forbids scripts", async () => {
    const packed = await get("/docs/reference/compatible", { "accept-encoding": "br" })
    expect(packed.headers.get("content-encoding")).toBe("br")
    expect(packed.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/)
    expect((await get("/docs", { "accept-encoding": "identity" })).headers.get("content-encoding")).toBeNull()
    for (const refused of ["br;q=0", "br ; q=0.000, gzip;q=0", "x-br", "br-x"])
      expect((await get("/docs", { "accept-encoding": refused })).headers.get("content-encoding"), refused).toBeNull()
    expect((await get("/docs", { "accept-encoding": "br;q=0, GZIP;q=1" })).headers.get("content-encoding")).toBe("gzip")
    expect((await get("/openapi.json", { "accept-encoding": "gzip" })).headers.get("content-encoding")).toBe("gzip")
  })
})

describe("a guide that has just been opened", () => {
  const opened = useGateway()
  const read = () => fetch(`${opened().baseUrl}/docs/search?q=river`)

  it("answers as many readers as its thread takes, and asks others to come back", async () => {
    const replies = await Promise.all(Array.from({ length: 200 }, read))
    const refused = replies.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.length).toBeLessThan(200)
    for (const reply of refused) {
      expect(reply.headers.get("retry-after")).toBe("1")
      expect(await errorOf(reply)).toMatchObject({ status: 429, code: "rate_limited", detail: { scope: "gateway" } })
    }
    expect((await read()).status).toBe(200)
  })
})
