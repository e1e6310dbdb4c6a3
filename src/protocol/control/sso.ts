/** Logging in at an organisation's identity provider. */
import { Schema } from "effect"
import { storedName } from "../values/text.ts"

const Secret = Schema.NonEmptyString.check(Schema.isMaxLength(512))

/** The query that starts a login at a provider. */
export const SsoStart = Schema.Struct({
  /** The organisation's id. */
  org: storedName(64),
  /** An address that the catalogue allows; Weir's own pages if absent. */
  returnTo: Schema.optionalKey(storedName(2048)),
  /** Returned to `returnTo` together with the code. */
  state: Schema.optionalKey(storedName(512)),
  /** The device that the person wants to approve. */
  device: Schema.optionalKey(storedName(16)),
  /** The request of a client that the person wants to decide on. */
  request: Schema.optionalKey(storedName(64)),
}).annotate({ identifier: "SsoStart" })

/** Confirms a provider's new subject with a mailed code. */
export const SsoLinkConfirm = Schema.Struct({
  linkToken: Secret,
  code: Schema.NonEmptyString.check(Schema.isMaxLength(16)),
}).annotate({ identifier: "SsoLinkConfirm" })

/** A one-time login code, valid for a minute. */
export const SsoCode = Schema.Struct({ code: Secret }).annotate({ identifier: "SsoCode" })
export type SsoCode = typeof SsoCode.Type
