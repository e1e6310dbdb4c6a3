/** Development secrets: minted once and stored in the data directory, so that a restart keeps them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { writeWholeFile } from "../files/whole-file.ts"
import { mintSecret } from "../secrets.ts"

const DevelopmentSecrets = Schema.Struct({ key: Schema.String, adminKey: Schema.String, masterKey: Schema.String })
export type DevelopmentSecrets = typeof DevelopmentSecrets.Type

/** Older versions have made fewer. */
const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ ...DevelopmentSecrets.fields, masterKey: Schema.optionalKey(Schema.String) })),
)

export const developmentSecrets = (dataDir: string): Effect.Effect<DevelopmentSecrets> =>
  Effect.sync(() => {
    const mint = () => ({ key: mintSecret("wk"), adminKey: mintSecret("wa"), masterKey: mintSecret("wm") })
    // With a database in memory, nothing remains that needs them.
    if (dataDir === ":memory:") return mint()
    const file = join(dataDir, "development.json")
    const known = readKnown(file)
    const secrets = { ...mint(), ...known }
    if (known?.masterKey === undefined) writeWholeFile(file, JSON.stringify(secrets))
    return secrets
  })

const readKnown = (file: string) => {
  try {
    return decode(readFileSync(file, "utf8"))
  } catch {
    return undefined
  }
}
