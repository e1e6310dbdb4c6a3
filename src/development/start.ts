/** What a development gateway does at start: its own secrets, and, without a catalogue, a vendor and a funded key. */
import { Context, Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { ResolveSecret, sha256 } from "../catalogue/secrets.ts"
import { isDevelopment, WeirConfig } from "../config.ts"
import { AdminKey, makeAdminKey } from "../identity/admin.ts"
import type { ScriptedVendor } from "../testing/scripted-vendor.ts"
import { developmentCatalogue, developmentKeyId, developmentKeyRef } from "./catalogue.ts"
import { type DevelopmentSecrets, developmentSecrets } from "./secrets.ts"
import { startSimulatedVendor } from "./simulated-vendor.ts"

/** What is told to whoever starts a development gateway. */
export interface DevelopmentHandout {
  readonly adminKey: string
  /** Present where the development catalogue is in force. */
  readonly key?: { readonly id: string; readonly secret: string } | undefined
}

const secrets = Effect.flatMap(WeirConfig, (config) =>
  isDevelopment(config)
    ? developmentSecrets(config.dataDir)
    : Effect.succeed<DevelopmentSecrets | undefined>(undefined),
)

/** The admin key: the operator's hash, or in development one that is minted. */
export const layerAdminKey = Layer.effect(
  AdminKey,
  Effect.gen(function* () {
    const { adminKeySha256 } = yield* WeirConfig
    const minted = yield* secrets
    return makeAdminKey(adminKeySha256 ?? (minted && sha256(minted.adminKey).toString("hex")))
  }),
)

/** Adds the development key to what references can resolve. */
export const layerSecrets = Layer.effect(
  ResolveSecret,
  Effect.gen(function* () {
    const resolve = yield* ResolveSecret
    const minted = yield* secrets
    return (ref: string) => (ref === developmentKeyRef ? minted?.key : resolve(ref))
  }),
)

/** The simulated vendor; undefined where a catalogue names real ones. It outlives the exchanges that use it. */
class SimulatedVendor extends Context.Service<SimulatedVendor, ScriptedVendor | undefined>()(
  "weir/development/SimulatedVendor",
) {}

export const layerSimulatedVendor = Layer.effect(
  SimulatedVendor,
  Effect.flatMap(WeirConfig, (config) =>
    isDevelopment(config) && config.catalogueFile === undefined ? startSimulatedVendor : Effect.succeed(undefined),
  ),
)

/** Applies the development catalogue, where that is wanted, and tells what a developer needs to know. */
export const startDevelopment = Effect.gen(function* () {
  const minted = yield* secrets
  if (minted === undefined) return undefined
  const adminKey = minted.adminKey
  const catalogue = yield* Catalogue
  const vendor = yield* SimulatedVendor
  if (vendor === undefined) return { adminKey }
  yield* catalogue.apply(developmentCatalogue(vendor.url))
  return { adminKey, key: { id: developmentKeyId, secret: minted.key } } satisfies DevelopmentHandout
})
