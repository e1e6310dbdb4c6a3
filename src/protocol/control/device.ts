/** Device login. Source: RFC 8628. */
import { Schema } from "effect"
import { storedName } from "../values/text.ts"

export const DeviceCodeRequest = Schema.Struct({
  clientName: storedName(128),
  scope: Schema.optionalKey(Schema.Literal("data")),
}).annotate({ identifier: "DeviceCodeRequest" })

export const DeviceCode = Schema.Struct({
  deviceCode: Schema.String,
  /** XXXX-XXXX, for people to type. */
  userCode: Schema.String,
  verificationUri: Schema.String,
  verificationUriComplete: Schema.String,
  /** Validity of the codes, in seconds. */
  expiresIn: Schema.Int,
  /** Minimum polling interval, in seconds. */
  interval: Schema.Int,
}).annotate({ identifier: "DeviceCode" })
export type DeviceCode = typeof DeviceCode.Type

export const DeviceTokenRequest = Schema.Struct({
  deviceCode: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
}).annotate({ identifier: "DeviceTokenRequest" })

export const DeviceDecision = Schema.Struct({
  userCode: storedName(32),
  approve: Schema.Boolean,
}).annotate({ identifier: "DeviceDecision" })

export const DeviceDecided = Schema.Struct({ status: Schema.Literals(["approved", "denied"]) }).annotate({
  identifier: "DeviceDecided",
})
export type DeviceDecided = typeof DeviceDecided.Type
