/** The secrets of a development machine, minted once and kept in the data folder, so that a restart keeps them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { mintSecret } from "../catalogue/secrets.ts"

const DevelopmentSecrets = Schema.Struct({ key: Schema.String, adminKey: Schema.String })
export type DevelopmentSecrets = typeof DevelopmentSecrets.Type

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(DevelopmentSecrets))

export const developmentSecrets = (dataDir: string): Effect.Effect<DevelopmentSecrets> =>
  Effect.sync(() => {
    const file = join(dataDir, "development.json")
    try {
      return decode(readFileSync(file, "utf8"))
    } catch {
      const secrets = { key: mintSecret("wk"), adminKey: mintSecret("wa") }
      mkdirSync(dataDir, { recursive: true })
      writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 })
      return secrets
    }
  })
