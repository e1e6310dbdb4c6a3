/** The console over HTTP: its document and policy, its files, and `/`. */
import { describe, expect, it } from "vitest"
import { loadAssets } from "../../../src/http/console/assets.ts"
import { errorOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway().baseUrl}${path}`, { redirect: "manual", headers })

describe("the console's document", () => {
  it("is where / and /console lead a browser; for anything else / stays the envelope's 404", async () => {
    const page = await get("/", { accept: "text/html" })
    expect([page.status, page.headers.get("location")]).toEqual([302, "./console/"])
    expect((await get("/console")).headers.get("location")).toBe("./console/")
    expect((await errorOf(await get("/"))).status).toBe(404)
  })

  it("runs under a policy without unsafe-*, which allows its map of modules and nothing else inline", async () => {
    const response = await get("/console/")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).not.toContain("unsafe")
    expect(policy).toContain("frame-ancestors 'none'")
    const html = await response.text()
    expect(html.match(/<script/g)).toHaveLength(3)
    expect(html).not.toMatch(/<style|\son\w+=|style=/)
    expect(html).not.toMatch(/(?:src|href)="(?!\.\/|data:image\/svg\+xml,)/)
  })
})

describe("its files", () => {
  const assets = loadAssets()
  const path = (name: string) => `/console/${assets.version}/${name}`

  it("are kept by browsers for good, and are compressed as they ask", async () => {
    for (const encoding of ["br", "gzip"]) {
      const response = await get(path("console/main.ts"), { "accept-encoding": encoding })
      expect(response.headers.get("content-encoding")).toBe(encoding)
      expect(response.headers.get("cache-control")).toContain("immutable")
      expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
      expect(await response.text()).toContain("render(")
    }
  })

  it("have no types, and import only what is among them", () => {
    for (const [name, { type, text }] of assets.files) {
      if (!type.startsWith("text/javascript") || name.startsWith("lib/")) continue
      expect(text, name).not.toMatch(/^(?:export )?(?:interface|type) /m)
    }
    expect(
      [...assets.files.keys()].filter((name) => !/^(console|lib|telemetry|protocol|tools)\/|^console\.css$/.test(name)),
    ).toEqual([])
    expect([...assets.files.keys()].filter((name) => name.startsWith("protocol/"))).toEqual([
      "protocol/timeout-tiers.ts",
      "protocol/values/rate-text.ts",
      "protocol/mcp/tool-call.ts",
    ])
    expect([...assets.files.keys()].filter((name) => name.startsWith("tools/")).toSorted()).toEqual([
      "tools/definition-changes.ts",
      "tools/price-text.ts",
    ])
  })

  it.each([
    "/console/",
    "/console/other/console/main.ts",
    "/console/VERSION/../../config.ts",
    "/console/VERSION/config.ts",
  ])("nothing else is served: %s", async (place) => {
    const response = await get(`${place.replace("VERSION", assets.version)}${place === "/console/" ? "nothing" : ""}`)
    expect((await errorOf(response)).status).toBe(404)
  })
})
