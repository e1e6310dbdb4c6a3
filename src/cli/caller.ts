/** Credentials for commands that act as a caller: an application's key pair, or a token. */
import { Effect, Option } from "effect"
import { Flag } from "effect/cli"
import type { Credentials } from "../client/credentials.ts"
import { Failed, secretOfFlag, url } from "./target.ts"

const optionalText = (name: string, variable: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${description} (${variable})`),
    Flag.withFallbackConfig(secretOfFlag(variable)),
    Flag.optional,
  )

/** Flags of every command that acts as a caller. */
export const caller = {
  url,
  keyId: optionalText("key-id", "SVC_KEY_ID", "The application key's id"),
  key: optionalText("key", "SVC_KEY", "Its secret"),
  token: optionalText("token", "SVC_TOKEN", "A device key or access token, instead of the key pair"),
}

export interface CallerFlags {
  readonly keyId: Option.Option<string>
  readonly key: Option.Option<string>
  readonly token: Option.Option<string>
}

export const credentialsOf = ({ keyId, key, token }: CallerFlags): Effect.Effect<Credentials, Failed> => {
  if (Option.isSome(token)) return Effect.succeed({ bearer: token.value })
  if (Option.isSome(keyId) && Option.isSome(key)) return Effect.succeed({ keyId: keyId.value, key: key.value })
  return Effect.fail(
    new Failed("Credentials are missing: set --key-id and --key (SVC_KEY_ID, SVC_KEY), or --token (SVC_TOKEN)"),
  )
}
