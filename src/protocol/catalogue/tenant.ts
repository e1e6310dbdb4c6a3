/** Organisations, people, teams, applications and keys. */
import { Schema } from "effect"
import { OrgReplyCache } from "../control/reply-cache.ts"
import { Currency } from "../usage.ts"
import { NonNegative, PerMinute } from "../values/bounds.ts"
import { Instant } from "../values/instant.ts"
import { SsoProvider } from "./sso-provider.ts"
import { Id, Role, SecretRef } from "./values.ts"

export const Org = Schema.Struct({
  id: Id,
  name: Schema.NonEmptyString,
  plan: Schema.optionalKey(Id),
  currency: Currency,
  /** The balance below which the event `balance.low` is sent. */
  warnBelow: Schema.optionalKey(NonNegative),
  models: Schema.Array(Id),
  policies: Schema.optionalKey(Schema.Array(Id)),
  capabilities: Schema.optionalKey(Schema.Record(Schema.String, Schema.Boolean)),
  /**
   * The handling of tools that vendors run and that a request cannot have, because its vendor has none or no price names
   * them: the call is refused and the error names them, or it goes on without them and its client gets a warning. If absent,
   * the call is refused if no vendor of the model has them and it offers no other tools, as agents do.
   */
  hostedTools: Schema.optionalKey(Schema.Literals(["refuse", "omit"])),
  /** Model handles by the names that existing clients insist on; a trailing `*` matches any rest. */
  aliases: Schema.optionalKey(Schema.Record(Schema.String.check(Schema.isPattern(/^[^*]{0,128}\*?$/)), Id)),
  sso: Schema.optionalKey(SsoProvider),
  /**
   * The time for which replies are kept for this organisation, and the scope that shares them. Wins over the setting of
   * models.
   */
  replyCache: Schema.optionalKey(OrgReplyCache),
})
export type Org = typeof Org.Type

export const User = Schema.Struct({
  id: Id,
  email: Schema.String.check(Schema.isPattern(/^[^\s@]+@[^\s@]+$/)),
  org: Id,
  role: Role,
})

export const Team = Schema.Struct({
  id: Id,
  org: Id,
  members: Schema.Array(Id),
  disabled: Schema.optionalKey(Schema.Boolean),
})

export const App = Schema.Struct({
  id: Id,
  org: Id,
  quota: Schema.optionalKey(Schema.Struct({ rpm: Schema.optionalKey(PerMinute) })),
  requireSignature: Schema.optionalKey(Schema.Boolean),
  /** Addresses or networks (CIDR); empty or absent allows all. */
  ipAllow: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
  licenceRequired: Schema.optionalKey(Schema.Boolean),
  disabled: Schema.optionalKey(Schema.Boolean),
})
export type App = typeof App.Type

export const KeyScope = Schema.Literals(["runtime", "control"])
export type KeyScope = typeof KeyScope.Type

export const Key = Schema.Struct({
  id: Id,
  app: Id,
  /** If absent, a secret is minted when the key is first applied, and returned once. */
  secret: Schema.optionalKey(SecretRef),
  scopes: Schema.optionalKey(Schema.Array(KeyScope)),
  expiresAt: Schema.optionalKey(Instant),
  disabled: Schema.optionalKey(Schema.Boolean),
})
