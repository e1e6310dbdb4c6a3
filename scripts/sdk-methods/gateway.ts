/** The gateway that the SDKs call: the development catalogue with its simulated vendor, and a place for files. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { developmentCatalogue, developmentKeyId, developmentKeyRef } from "../../src/development/catalogue.ts"
import { startSimulatedVendor } from "../../src/development/simulated-vendor.ts"
import { startGateway } from "../../src/testing/gateway.ts"

export interface CalledGateway {
  readonly url: string
  readonly apiKey: string
  /** A folder for files that SDKs download. */
  readonly folder: string
  /** Whether the catalogue declares a path, so that it is passed through to a vendor: it declares none yet. */
  readonly isDeclared: (path: string) => boolean
}

/** Starts it; it stops when the scope closes. */
export const startCalledGateway: Effect.Effect<CalledGateway, unknown, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "weir-sdk-methods-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true })),
  )
  const vendor = yield* startSimulatedVendor()
  const catalogue = `${developmentCatalogue(vendor.url)}files: { to: "file://${join(folder, "stored")}" }\n`
  const { baseUrl, key } = yield* startGateway({
    catalogue: () => catalogue.replaceAll(developmentKeyRef, "env:WEIR_TEST_KEY"),
    backgroundSpeed: 10,
  })
  return { url: baseUrl, apiKey: `${developmentKeyId}~${key}`, folder, isDeclared: () => false }
})
