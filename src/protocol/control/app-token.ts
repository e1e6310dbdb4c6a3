/** Tokens for an application's end users. */
import { Schema } from "effect"

export const EndUserId = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,128}$/, { expected: "1 to 128 printable ASCII characters" }),
)

export const AppTokenRequest = Schema.Struct({
  endUserId: EndUserId,
  /** 3600 if absent. */
  ttlSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 86_400 }))),
}).annotate({ identifier: "AppTokenRequest" })
export type AppTokenRequest = typeof AppTokenRequest.Type

/** The token is returned once. */
export const AppTokenResponse = Schema.Struct({
  token: Schema.NonEmptyString,
  expiresAt: Schema.NonEmptyString,
  appId: Schema.NonEmptyString,
  endUserId: EndUserId,
}).annotate({ identifier: "AppTokenResponse" })
export type AppTokenResponse = typeof AppTokenResponse.Type
