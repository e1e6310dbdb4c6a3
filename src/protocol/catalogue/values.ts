/** Values that many parts of a catalogue have. */
import { Schema } from "effect"
import { referenceForms, referencePattern } from "../values/secret-ref.ts"

export const Id = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}$/, {
    expected: "an id such as acme: 1 to 64 letters, digits and . _ : / -, the first a letter or digit",
  }),
)
export const Int = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000_000 }))
export const Positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))

/** A reference to a secret. A catalogue never contains the secret itself. */
export const SecretRef = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern})$`), { expected: referenceForms }),
)

export const HttpUrl = Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s?#]+$/, { expected: "an http(s) URL" }))

/** The rights of a member in an organisation. */
export const Role = Schema.Literals(["owner", "admin", "member"])
export type Role = typeof Role.Type
