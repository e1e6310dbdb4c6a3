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
  /** `inbound` refuses requests, `outbound` withholds replies. */
  direction: Schema.Literals(["inbound", "outbound"]),
  /** The text that matches: `regex` in RE2 syntax, `keywords` in any case, or a `moderation` endpoint. */
  match: Schema.Union([
    /** RE2 syntax. */
    Schema.Struct({ regex: Schema.NonEmptyString }),
    /** Substrings, independent of case. */
    Schema.Struct({ keywords: Schema.Array(Schema.NonEmptyString).check(Schema.isMinLength(1)) }),
    Schema.Struct({ moderation: Moderation }),
  ]),
  /** The reason in the error's detail, e.g. `secret_material`. */
  reason: Schema.String.check(
    Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { expected: "a reason such as personal_data" }),
  ),
})

export type Policy = typeof Policy.Type
