/**
 * The gateway that the SDKs call: the development catalogue with its simulated vendor, a place for files, and a vendor that
 * keeps content.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { developmentCatalogue, developmentKeyId, developmentKeyRef } from "../../src/development/catalogue.ts"
import { startSimulatedVendor } from "../../src/development/simulated-vendor.ts"
import { findRoute, readRoute } from "../../src/pass-through/routes.ts"
import type { Mount } from "../../src/protocol/catalogue/pass-through.ts"
import { knownRoutes } from "../../src/setup/known-routes.ts"
import { startGateway } from "../../src/testing/gateway.ts"

import { startAnyVendor } from "./any-vendor.ts"

export interface CalledGateway {
  readonly url: string
  readonly apiKey: string
  /** A folder for files that SDKs download. */
  readonly folder: string
  /** Whether the catalogue declares a path, so that it is passed through to a vendor where no route of the gateway's own is. */
  readonly isDeclared: (method: string, path: string) => boolean
  /** Makes ids those of the caller at the vendor of an API. */
  readonly own: (api: Mount, ids: ReadonlyArray<string>) => Promise<void>
}

const apis = ["openai", "anthropic", "gemini", "cohere"] as const
const dialects = { openai: "openai-responses", anthropic: "anthropic", gemini: "gemini", cohere: "cohere" } as const

/** The development catalogue with the routes that `weir init --pass-through` declares. */
const catalogueOf = (simulated: string, vendor: string, folder: string): string => {
  const [before = "", after = ""] = developmentCatalogue(simulated)
    .replaceAll(developmentKeyRef, "env:WEIR_TEST_KEY")
    .replace("models:\n", "models:\n  - { handle: kept, targets: [{ vendor: gemini, model: gemini-3-test }] }\n")
    .replace(
      "prices:\n",
      `prices:\n  - { model: kept, currency: USD, input: "3", output: "15", dims: { cache_hours: "4.5" }, from: 2026-01-01 }\n`,
    )
    .replace("models: [main,", "models: [kept, main,")
    .replace("perMinute: 600", "perMinute: 100000")
    .replace('amount: "100"', 'amount: "100000"')
    .split(/passThrough:\n(?: {2}- .*\n)+/)
  const vendors = apis.map((api) => ({
    id: api,
    dialect: dialects[api],
    baseUrl: api === "openai" ? `${vendor}/v1` : vendor,
    credential: "env:WEIR_TEST_VENDOR",
  }))
  const owning = apis.map((api) => ({
    id: `own-${api}`,
    vendor: api,
    path: "/own",
    methods: ["POST"],
    price: "free",
    owners: ["$.id"],
  }))
  const lines = (entries: ReadonlyArray<object>) => entries.map((entry) => `  - ${JSON.stringify(entry)}\n`).join("")
  return `${before.replace("vendors:\n", `vendors:\n${lines(vendors)}`)}passThrough:\n${lines([...apis.flatMap(knownRoutes), ...owning])}${after}files: { to: "file://${join(folder, "stored")}" }\n`
}

/** Starts it; it stops when the scope closes. */
export const startCalledGateway: Effect.Effect<CalledGateway, unknown, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "weir-sdk-methods-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true })),
  )
  const vendor = yield* startSimulatedVendor()
  const any = yield* startAnyVendor
  const { baseUrl, key } = yield* startGateway({
    catalogue: () => catalogueOf(vendor.url, any.url, folder),
    backgroundSpeed: 10,
  })
  const apiKey = `${developmentKeyId}~${key}`
  const routes = apis.flatMap(knownRoutes).map((route) => readRoute(route, undefined))
  const own = async (api: Mount, ids: ReadonlyArray<string>) => {
    for (const id of ids) {
      any.give(id)
      const headers = { authorization: `Bearer ${apiKey}` }
      await (await fetch(`${baseUrl}/pass/own-${api}/own`, { method: "POST", headers })).text()
    }
  }
  const isDeclared = (method: string, path: string) => {
    const found = findRoute(routes, method, path)
    return found !== undefined && "route" in found
  }
  return { url: baseUrl, apiKey, folder, isDeclared, own }
})
