/** Login: one-time codes, tokens, the current person. */
import { Schema } from "effect"
import { Role } from "../catalogue/values.ts"

/** An e-mail address without a display name. HTML Living Standard, "valid e-mail address". */
export const Email = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+$/, {
    expected: "an e-mail address",
  }),
  Schema.isMaxLength(254),
).annotate({ format: "email" })

const Secret = Schema.NonEmptyString.check(Schema.isMaxLength(512))

export const OtpRequest = Schema.Struct({ email: Email }).annotate({ identifier: "OtpRequest" })

/** The same reply for every address, so that it does not reveal which addresses have an account. */
export const OtpAccepted = Schema.Struct({ status: Schema.Literal("accepted"), expiresIn: Schema.Int }).annotate({
  identifier: "OtpAccepted",
})
export type OtpAccepted = typeof OtpAccepted.Type

export const OtpVerify = Schema.Struct({
  email: Email,
  code: Schema.NonEmptyString.check(Schema.isMaxLength(16)),
}).annotate({ identifier: "OtpVerify" })

export const RefreshRequest = Schema.Struct({ refreshToken: Secret }).annotate({ identifier: "RefreshRequest" })

const Person = Schema.Struct({ id: Schema.String, email: Schema.String })

/** The reply of every login method. */
export const TokenReply = Schema.Struct({
  accessToken: Schema.String,
  tokenType: Schema.Literal("Bearer"),
  /** Validity of the access token, in seconds. */
  expiresIn: Schema.Int,
  /** Valid for one refresh within 30 days; the reply contains the next one. */
  refreshToken: Schema.String,
  user: Person,
}).annotate({ identifier: "TokenReply" })
export type TokenReply = typeof TokenReply.Type

/** An invitation that the person has not answered. */
export const Invitation = Schema.Struct({
  /** The organisation's id and name. */
  id: Schema.String,
  name: Schema.String,
  role: Role,
}).annotate({ identifier: "Invitation" })
export type Invitation = typeof Invitation.Type

/** The principal of a bearer token. */
export const Me = Schema.Struct({
  /** The person; absent if the token belongs to an organisation itself. */
  user: Schema.optionalKey(Person),
  orgs: Schema.Array(
    Schema.Struct({ id: Schema.String, name: Schema.String, role: Role, teams: Schema.Array(Schema.String) }),
  ),
  /** They give no rights until the person accepts; absent if there are none. */
  invitations: Schema.optionalKey(Schema.Array(Invitation)),
}).annotate({ identifier: "Me" })
export type Me = typeof Me.Type

/** The public keys of access tokens. RFC 7517. */
export const JwkSet = Schema.Struct({
  keys: Schema.Array(Schema.Record(Schema.String, Schema.String)),
}).annotate({ identifier: "JwkSet" })
