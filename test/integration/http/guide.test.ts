/** The guide at `/docs`: pages, search, the reference of the API; nothing is fetched from elsewhere, and nothing is executed. */
import { describe, expect, it } from "vitest"
import { contents } from "../../../src/http/guide/contents.ts"
import { useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway().baseUrl}${path}`, { headers, redirect: "manual" })
const html = async (path: string) => {
  const reply = await get(path)
  expect(reply.status, path).toBe(200)
  expect(reply.headers.get("content-type")).toContain("text/html")
  return reply.text()
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
    for (const words of ["timeouts environment", "timeou", "timeuots"]) {
      const page = await html(`/docs/search?q=${encodeURIComponent(words)}`)
      expect(page, words).toContain("/docs/how-to/timeouts")
    }
    expect(await html("/docs/search?q=embeddings")).toContain("/docs/api/")
    expect(await html("/docs/search?q=zzzzqqq")).toContain("Nothing matches")
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
    expect((await get("/openapi.json", { "accept-encoding": "gzip" })).headers.get("content-encoding")).toBe("gzip")
  })
})
