/** What operators see of organisations, people, keys and licences. Source: decisions "Control routes" (admin). */
import { Schema } from "effect"
import { Id, Instant, KeyScope, Role } from "./catalogue.ts"
import { Currency, Decimal } from "./usage.ts"

export const OrgList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      plan: Schema.optionalKey(Schema.String),
      currency: Currency,
      available: Decimal,
      held: Decimal,
      apps: Schema.Int,
      members: Schema.Int,
      sso: Schema.Boolean,
    }),
  ),
}).annotate({ identifier: "OrgList" })
export type OrgList = typeof OrgList.Type

/** Somebody whom the catalogue names, or who has logged in. */
export const AdminUser = Schema.Struct({
  /** The account's id where there is one, else the catalogue's. */
  id: Schema.String,
  email: Schema.String,
  /** `invited`: named, and has never logged in. */
  status: Schema.Literals(["active", "disabled", "invited"]),
  memberships: Schema.Array(Schema.Struct({ org: Schema.String, role: Role })),
}).annotate({ identifier: "AdminUser" })
export type AdminUser = typeof AdminUser.Type

export const UserList = Schema.Struct({ data: Schema.Array(AdminUser) }).annotate({ identifier: "UserList" })

export const KeyList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      appId: Schema.String,
      /** Absent where the catalogue has the application no more. */
      orgId: Schema.optionalKey(Schema.String),
      scopes: Schema.Array(Schema.String),
      status: Schema.Literals(["active", "disabled", "revoked"]),
      /** Who made it: a catalogue's keys come and go with it. */
      origin: Schema.Literals(["catalogue", "admin"]),
      createdAt: Schema.String,
      expiresAt: Schema.optionalKey(Schema.String),
    }),
  ),
}).annotate({ identifier: "KeyList" })
export type KeyList = typeof KeyList.Type

export const KeyMint = Schema.Struct({
  app: Id,
  /** One is made up when absent. */
  id: Schema.optionalKey(Id),
  /** `runtime` when absent. */
  scopes: Schema.optionalKey(Schema.Array(KeyScope).check(Schema.isMinLength(1))),
  expiresAt: Schema.optionalKey(Instant),
}).annotate({ identifier: "KeyMint" })

/** The secret is told here once. */
export const KeyMinted = Schema.Struct({ keyId: Schema.String, key: Schema.String }).annotate({
  identifier: "KeyMinted",
})
export type KeyMinted = typeof KeyMinted.Type
