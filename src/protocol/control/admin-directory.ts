/** Organisations, people, keys and licences for operators. */
import { Schema } from "effect"
import { limitFields } from "../catalogue/limits.ts"
import { Key, KeyScope } from "../catalogue/tenant.ts"
import { Id, Role } from "../catalogue/values.ts"
import { Currency, Decimal } from "../usage.ts"
import { Instant } from "../values/instant.ts"
import { storedName } from "../values/text.ts"
import { nextCursor, removable, TenantStatus } from "./tenants.ts"

export const OrgList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      plan: Schema.optionalKey(Schema.String),
      currency: Currency,
      available: Decimal,
      held: Decimal,
      /** The allotments that nodes hold against: a part of the two amounts before. */
      allotted: Decimal,
      apps: Schema.Int,
      members: Schema.Int,
      sso: Schema.Boolean,
      status: TenantStatus,
      /** Whether the catalogue file declares it. */
      declared: Schema.Boolean,
    }),
  ),
  nextCursor,
}).annotate({ identifier: "OrgList" })
export type OrgList = typeof OrgList.Type

/** A member of an organisation, or a person who has logged in. */
export const AdminUser = Schema.Struct({
  /** The account's id if there is one, otherwise the member's. */
  id: Schema.String,
  email: Schema.String,
  /** `invited`: a member who has never logged in. */
  status: Schema.Literals(["active", "disabled", "invited"]),
  memberships: Schema.Array(
    /** `invited`: the person has not accepted yet. */
    Schema.Struct({ org: Schema.String, role: Role, invited: Schema.optionalKey(Schema.Boolean) }),
  ),
}).annotate({ identifier: "AdminUser" })
export type AdminUser = typeof AdminUser.Type

export const UserList = Schema.Struct({ data: Schema.Array(AdminUser), nextCursor }).annotate({
  identifier: "UserList",
})
export type UserList = typeof UserList.Type

export const KeyList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.optionalKey(Schema.String),
      appId: Schema.String,
      /** The application's name. */
      appName: Schema.optionalKey(Schema.String),
      /** Absent if the application no longer exists. */
      orgId: Schema.optionalKey(Schema.String),
      scopes: Schema.Array(Schema.String),
      status: Schema.Literals(["active", "disabled", "revoked"]),
      /** A key of the catalogue is revoked when the catalogue no longer contains it. */
      origin: Schema.Literals(["catalogue", "admin"]),
      createdAt: Schema.String,
      expiresAt: Schema.optionalKey(Schema.String),
      /** The maker: a person (`user:ID`), an organisation's token (`org:ID`), an operator (`service:ID`), or absent for the catalogue. */
      madeBy: Schema.optionalKey(Schema.String),
      /** To the minute; absent if it was never used. */
      lastUsedAt: Schema.optionalKey(Schema.String),
      /** The time until which its former secret works. */
      formerUntil: Schema.optionalKey(Schema.String),
      ...limitFields,
    }),
  ),
  nextCursor,
}).annotate({ identifier: "KeyList" })
export type KeyList = typeof KeyList.Type

export const KeyMint = Schema.Struct({
  app: Id,
  /** Generated if absent. */
  id: Schema.optionalKey(Id),
  name: Key.fields.name,
  /** `runtime` if absent. */
  scopes: Schema.optionalKey(Schema.Array(KeyScope).check(Schema.isMinLength(1))),
  expiresAt: Schema.optionalKey(Instant),
  ...limitFields,
  /** The same request again gives the same key a new secret: for an answer that was lost, within a day. */
  requestId: Schema.optionalKey(storedName(128)),
}).annotate({ identifier: "KeyMint" })

/** Organisations do not choose the ids of keys: an id must be unused in all organisations. */
export const OwnKeyMint = KeyMint.mapFields(({ id: _, ...fields }) => fields).annotate({ identifier: "OwnKeyMint" })

/** The secret is returned once. */
export const KeyMinted = Schema.Struct({ keyId: Schema.String, key: Schema.String }).annotate({
  identifier: "KeyMinted",
})
/** A new secret for a key. */
export const KeyRotation = Schema.Struct({
  /** Seconds for which the former secret works on: 0 to 30 days, a day if absent. */
  graceS: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_592_000 }))),
  /** The same request again replaces the new secret, and not the former one: for an answer that was lost. */
  requestId: Schema.optionalKey(storedName(128)),
}).annotate({ identifier: "KeyRotation" })
export type KeyRotation = typeof KeyRotation.Type

/** The new secret is returned once. */
export const KeyRotated = Schema.Struct({
  keyId: Schema.String,
  key: Schema.String,
  /** The time until which the former secret works. */
  formerUntil: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "KeyRotated" })
export type KeyRotated = typeof KeyRotated.Type

/** A member that is null is removed. */
export const KeyUpdate = Schema.Struct({
  name: removable(Key.fields.name.schema),
  models: removable(limitFields.models.schema),
  rates: removable(limitFields.rates.schema),
  tools: removable(limitFields.tools.schema),
  expiresAt: removable(Instant),
  disabled: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "KeyUpdate" })
export type KeyUpdate = typeof KeyUpdate.Type

export type KeyMinted = typeof KeyMinted.Type
