/** Licences of applications. */
import { Schema } from "effect"
import { storedName } from "../values/text.ts"

export const License = Schema.Struct({
  id: Schema.String,
  /** The application of the licence. */
  appId: Schema.String,
  /** Increases with each suspension and revocation, so that caches can be invalidated. */
  epoch: Schema.Int,
  createdAt: Schema.String,
  principalType: Schema.Literal("member"),
  status: Schema.Literals(["issued", "active", "suspended", "revoked"]),
  sourceType: Schema.Literal("approval"),
}).annotate({ identifier: "License" })
export type License = typeof License.Type

export const LicenseIssue = Schema.Struct({
  appId: storedName(128),
  /** Validity of the code in days: 1 to 366, 30 if absent. */
  codeExpiresInDays: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 }))),
}).annotate({ identifier: "LicenseIssue" })

/** The code is returned once. */
export const LicenseIssued = Schema.Struct({ license: License, code: Schema.String }).annotate({
  identifier: "LicenseIssued",
})
export type LicenseIssued = typeof LicenseIssued.Type

export const LicenseActivate = Schema.Struct({
  code: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
}).annotate({ identifier: "LicenseActivate" })

export const LicenseReply = Schema.Struct({ license: License }).annotate({ identifier: "LicenseReply" })

export const LicenseList = Schema.Struct({ data: Schema.Array(License) }).annotate({ identifier: "LicenseList" })
