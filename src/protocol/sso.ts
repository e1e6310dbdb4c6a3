/** Logging in at an organisation's identity provider. Source: interface.md "Other bodies", decisions "Control routes". */
import { Schema } from "effect"

const Secret = Schema.NonEmptyString.check(Schema.isMaxLength(512))

/** What a login at a provider begins with. */
export const SsoStart = Schema.Struct({
  /** The organisation's id. */
  org: Schema.NonEmptyString.check(Schema.isMaxLength(64)),
  /** One of the addresses that the catalogue allows the organisation; Weir's own pages when absent. */
  returnTo: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(2048))),
  /** Comes back beside the code, so that `returnTo` knows its own logins. */
  state: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(512))),
  /** The device that the person came to decide on. */
  device: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(16))),
}).annotate({ identifier: "SsoStart" })

/** Confirms, with the code that came by mail, whom a provider's new subject is. */
export const SsoLinkConfirm = Schema.Struct({
  linkToken: Secret,
  code: Schema.NonEmptyString.check(Schema.isMaxLength(16)),
}).annotate({ identifier: "SsoLinkConfirm" })

/** A one-time login code: good for a minute, once. */
export const SsoCode = Schema.Struct({ code: Secret }).annotate({ identifier: "SsoCode" })
export type SsoCode = typeof SsoCode.Type
