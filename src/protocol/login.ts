/** Logging in: one-time codes, tokens, who am I. Source: interface.md "Other bodies", decisions "Control routes". */
import { Schema } from "effect"
import { Role } from "./catalogue.ts"

/** An address as browsers' forms take it: one mailbox, nothing around it. HTML Living Standard, "valid e-mail address". */
export const Email = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+$/, {
    expected: "an e-mail address",
  }),
  Schema.isMaxLength(254),
).annotate({ format: "email" })

const Secret = Schema.NonEmptyString.check(Schema.isMaxLength(512))

export const OtpRequest = Schema.Struct({ email: Email }).annotate({ identifier: "OtpRequest" })

/** The same whoever asked, so that nobody learns who has an account. */
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

/** What every way of logging in ends with. */
export const TokenReply = Schema.Struct({
  accessToken: Schema.String,
  tokenType: Schema.Literal("Bearer"),
  /** Seconds that the access token is good for. */
  expiresIn: Schema.Int,
  /** Good for one refresh, within 30 days; the reply to it has the next one. */
  refreshToken: Schema.String,
  user: Person,
}).annotate({ identifier: "TokenReply" })
export type TokenReply = typeof TokenReply.Type

/** Who a bearer token speaks for. */
export const Me = Schema.Struct({
  /** Absent where the token is an organisation's own. */
  user: Schema.optionalKey(Person),
  orgs: Schema.Array(
    Schema.Struct({ id: Schema.String, name: Schema.String, role: Role, teams: Schema.Array(Schema.String) }),
  ),
}).annotate({ identifier: "Me" })
export type Me = typeof Me.Type

/** The public keys of access tokens. RFC 7517. */
export const JwkSet = Schema.Struct({
  keys: Schema.Array(Schema.Record(Schema.String, Schema.String)),
}).annotate({ identifier: "JwkSet" })
