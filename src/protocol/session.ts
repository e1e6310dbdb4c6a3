/** Sessions: heartbeat and handshake. */
import { Schema } from "effect"
import { storedName } from "./values/text.ts"

const short = Schema.String.check(Schema.isMaxLength(64))
export const SessionId = storedName(64)

/** Only these keys are allowed: a heartbeat carries no content. */
export const HeartbeatRequest = Schema.Struct({
  /** If absent, a session is opened. */
  sessionId: Schema.optionalKey(SessionId),
  client: Schema.optionalKey(Schema.Literal("cli")),
  /** The fingerprint of the client's configuration. */
  configVersion: Schema.optionalKey(short),
  meta: Schema.optionalKey(
    Schema.Struct({ clientVersion: Schema.optionalKey(short), platform: Schema.optionalKey(short) }),
  ),
}).annotate({ identifier: "HeartbeatRequest" })
export type HeartbeatRequest = typeof HeartbeatRequest.Type

export const HeartbeatResponse = Schema.Struct({
  sessionId: Schema.String,
  serverTime: Schema.String,
  /** Changes exactly when the delivered configuration changes. */
  configVersion: Schema.String,
  /** Whether it differs from the client's; false if the client sent none. */
  configStale: Schema.Boolean,
  /** The ETag of `/t1/config`, without quotes. */
  bundleEtag: Schema.optionalKey(Schema.String),
  licenseStatus: Schema.optionalKey(Schema.String),
  features: Schema.optionalKey(Schema.Array(Schema.String)),
}).annotate({ identifier: "HeartbeatResponse" })
export type HeartbeatResponse = typeof HeartbeatResponse.Type

export const HandshakeRequest = Schema.Struct({
  /** Protocols that the client supports, e.g. `twp/1`. */
  protocols: Schema.Array(Schema.NonEmptyString.check(Schema.isMaxLength(32))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(16),
  ),
  client: Schema.optionalKey(Schema.Struct({ name: short, version: short })),
}).annotate({ identifier: "HandshakeRequest" })
export type HandshakeRequest = typeof HandshakeRequest.Type

export const HandshakeResponse = Schema.Struct({
  protocol: Schema.String,
  features: Schema.Array(Schema.String),
  serverTime: Schema.String,
  configVersion: Schema.String,
  /** Sizes in bytes, times in milliseconds. */
  limits: Schema.Struct({
    bodyMaxBytes: Schema.Int,
    streamHeartbeatMs: Schema.Int,
    sessionWindowMs: Schema.Int,
    usageEventsMax: Schema.Int,
    searchResultsMax: Schema.Int,
  }),
}).annotate({ identifier: "HandshakeResponse" })
export type HandshakeResponse = typeof HandshakeResponse.Type
