/** Policies that review prompts and answers. */
import { Schema } from "effect"
import { Millis } from "../values/duration.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"

/** An endpoint with the API of OpenAI's moderations, at `{baseUrl}/moderations`. */
export const Moderation = Schema.Struct({
  baseUrl: HttpUrl,
  credential: Schema.optionalKey(SecretRef),
  model: Schema.optionalKey(Schema.NonEmptyString),
  /** Categories that deny; if absent, all that the endpoint flags. */
  categories: Schema.optionalKey(Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1))),
  /** 3 seconds if absent. */
  timeout: Schema.optionalKey(Millis),
  /** The verdict if the endpoint does not answer; `deny` if absent. */
  onFailure: Schema.optionalKey(Schema.Literals(["allow", "deny"])),
})

export const Policy = Schema.Struct({
  id: Id,
  direction: Schema.Literals(["inbound", "outbound"]),
  match: Schema.Union([
    /** RE2 syntax. */
    Schema.Struct({ regex: Schema.NonEmptyString }),
    /** Substrings, independent of case. */
    Schema.Struct({ keywords: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)) }),
    Schema.Struct({ moderation: Moderation }),
  ]),
  reason: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/)),
})

export type Policy = typeof Policy.Type
