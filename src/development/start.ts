/**
 * The start of a development gateway: it mints its secrets and, without a catalogue file, starts a vendor; without any
 * catalogue, funds a key.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { isDevelopment, WeirConfig } from "../config.ts"
import { AdminKey, makeAdminKey } from "../identity/admin.ts"
import { ResolveSecret, sha256 } from "../secrets.ts"
import type { ScriptedVendor } from "../testing/scripted-vendor.ts"
import { followVariable } from "../watched-files.ts"
import { developmentCatalogue, developmentKeyId, developmentKeyRef, simulatedVendorId } from "./catalogue.ts"
import { type DevelopmentSecrets, developmentSecrets } from "./secrets.ts"
import { startSimulatedVendor } from "./simulated-vendor.ts"

/** The values that the start prints and writes in development. */
export interface DevelopmentHandout {
  /** Absent if the operator has set a key (`SVC_ADMIN_KEY_SHA256`). */
  readonly adminKey: string | undefined
  /** Present if the development catalogue, or one that was made from it, is used. */
  readonly key?: { readonly id: string; readonly secret: string } | undefined
}

/** Undefined outside of development. Minted once for all users: with a database in memory they are stored nowhere else. */
class MintedSecrets extends Context.Service<MintedSecrets, DevelopmentSecrets | undefined>()(
  "weir/development/MintedSecrets",
) {}

export const layerMintedSecrets = Layer.effect(
  MintedSecrets,
  Effect.flatMap(WeirConfig, (config) =>
    isDevelopment(config) ? developmentSecrets(config.dataDir) : Effect.succeed(undefined),
  ),
)

/** The configuration with a master key: the operator's, or in development a minted one. */
export const layerMasterKey = Layer.effect(
  WeirConfig,
  Effect.map(Effect.zip(WeirConfig, MintedSecrets), ([config, minted]) =>
    minted === undefined || config.masterKey !== undefined
      ? config
      : { ...config, masterKey: Redacted.make(minted.masterKey) },
  ),
)

/** The admin key: the operator's hash, or in development a minted one. */
export const layerAdminKey = Layer.effect(
  AdminKey,
  Effect.gen(function* () {
    const { adminKeySha256 } = yield* WeirConfig
    const minted = yield* MintedSecrets
    const hash = yield* followVariable("SVC_ADMIN_KEY_SHA256", adminKeySha256)
    const mintedHash = minted && sha256(minted.adminKey).toString("hex")
    return makeAdminKey(() => hash() ?? mintedHash)
  }),
)

/** Resolves the development key's reference in addition to the others. */
export const layerSecrets = Layer.effect(
  ResolveSecret,
  Effect.gen(function* () {
    const resolve = yield* ResolveSecret
    const minted = yield* MintedSecrets
    return (ref: string) => (ref === developmentKeyRef ? minted?.key : resolve(ref))
  }),
)

/** The simulated vendor; undefined if a catalogue names real ones. It is stopped after the exchanges that use it. */
class SimulatedVendor extends Context.Service<SimulatedVendor, ScriptedVendor | undefined>()(
  "weir/development/SimulatedVendor",
) {}

export const layerSimulatedVendor = Layer.effect(
  SimulatedVendor,
  Effect.gen(function* () {
    const config = yield* WeirConfig
    if (!isDevelopment(config) || config.catalogueFile !== undefined) return undefined
    const address = addressIn(yield* Catalogue)
    return yield* startSimulatedVendor(address === undefined ? undefined : Number(new URL(address).port))
  }),
)

/** The address of the simulated vendor in the catalogue in force. */
const addressIn = (catalogue: Catalogue["Service"]): string | undefined => {
  const vendor = catalogue.current().document.vendors?.find(({ id }) => id === simulatedVendorId)
  return /^http:\/\/127\.0\.0\.1:\d+/.exec(vendor?.baseUrl ?? "")?.[0]
}

/** Applies the development catalogue if nobody has applied another, and returns what to print. */
export const startDevelopment = Effect.gen(function* () {
  const minted = yield* MintedSecrets
  if (minted === undefined) return undefined
  // If the operator has set an admin key, the minted one is not valid.
  const adminKey = (yield* WeirConfig).adminKeySha256 === undefined ? minted.adminKey : undefined
  const catalogue = yield* Catalogue
  const vendor = yield* SimulatedVendor
  if (vendor === undefined) return { adminKey } satisfies DevelopmentHandout
  yield* catalogueOf(catalogue, vendor)
  const sql = yield* SqlClient.SqlClient
  const keys = yield* sql`select from app_keys where id = ${developmentKeyId} and status = 'active'`
  if (keys.length === 0) return { adminKey } satisfies DevelopmentHandout
  return { adminKey, key: { id: developmentKeyId, secret: minted.key } } satisfies DevelopmentHandout
})

/** The catalogue that was applied last stays in force; only the simulated vendor's address in it may change. */
const catalogueOf = Effect.fnUntraced(function* (catalogue: Catalogue["Service"], vendor: ScriptedVendor) {
  const { revision, text, appliedBy } = yield* catalogue.inForce
  if (revision === 0n || appliedBy === "development") {
    return yield* catalogue.apply(developmentCatalogue(vendor.url), { by: "development" })
  }
  yield* Effect.logInfo("The catalogue that was applied last is in force", { revision })
  const known = addressIn(catalogue)
  if (known === undefined || known === vendor.url || text === undefined) return
  yield* catalogue.apply(text.replaceAll(known, vendor.url), { by: appliedBy ?? "admin" })
})
