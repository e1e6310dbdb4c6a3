/** Licences of applications. Source: interface.md "Licence". */
import { Schema } from "effect"

export const License = Schema.Struct({
  id: Schema.String,
  /** The application that it is for. */
  appId: Schema.String,
  /** Grows with each suspension and revocation: caches that know an older one ask again. */
  epoch: Schema.Int,
  createdAt: Schema.String,
  principalType: Schema.Literal("member"),
  status: Schema.Literals(["issued", "active", "suspended", "revoked"]),
  sourceType: Schema.Literal("approval"),
}).annotate({ identifier: "License" })
export type License = typeof License.Type

export const LicenseIssue = Schema.Struct({
  appId: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
  /** How long the code may be redeemed: 1 to 366 days, 30 when absent. */
  codeExpiresInDays: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 }))),
}).annotate({ identifier: "LicenseIssue" })

/** The code is told here once. */
export const LicenseIssued = Schema.Struct({ license: License, code: Schema.String }).annotate({
  identifier: "LicenseIssued",
})
export type LicenseIssued = typeof LicenseIssued.Type

export const LicenseActivate = Schema.Struct({
  code: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
}).annotate({ identifier: "LicenseActivate" })

export const LicenseReply = Schema.Struct({ license: License }).annotate({ identifier: "LicenseReply" })

export const LicenseList = Schema.Struct({ data: Schema.Array(License) }).annotate({ identifier: "LicenseList" })
