/** Headers that carry a secret. */
import { Redacted } from "effect"

type Headers = Readonly<Record<string, string>>

/** A bearer token; nothing without a secret. */
export const bearer = (secret: Redacted.Redacted | undefined): Headers =>
  secret === undefined ? {} : { authorization: `Bearer ${Redacted.value(secret)}` }
