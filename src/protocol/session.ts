/** Sessions and what a client learns at a heartbeat or a handshake. Source: interface.md "Heartbeat request / response". */
import { Schema } from "effect"

const short = Schema.String.check(Schema.isMaxLength(64))
export const SessionId = Schema.NonEmptyString.check(Schema.isMaxLength(64))

/** Nothing but these keys: a heartbeat carries no content. */
export const HeartbeatRequest = Schema.Struct({
  /** Absent: a new session is opened. */
  sessionId: Schema.optionalKey(SessionId),
  client: Schema.optionalKey(Schema.Literal("cli")),
  /** The fingerprint of the configuration that the client has. */
  configVersion: Schema.optionalKey(short),
  meta: Schema.optionalKey(
    Schema.Struct({ clientVersion: Schema.optionalKey(short), platform: Schema.optionalKey(short) }),
  ),
}).annotate({ identifier: "HeartbeatRequest" })
export type HeartbeatRequest = typeof HeartbeatRequest.Type

export const HeartbeatResponse = Schema.Struct({
  sessionId: Schema.String,
  serverTime: Schema.String,
  /** Changes when, and only when, the configuration that is delivered changes. */
  configVersion: Schema.String,
  /** Whether it is another than the client's; false where the client told none. */
  configStale: Schema.Boolean,
  /** The ETag of `/t1/config`, without quotes. */
  bundleEtag: Schema.optionalKey(Schema.String),
  licenseStatus: Schema.optionalKey(Schema.String),
  features: Schema.optionalKey(Schema.Array(Schema.String)),
}).annotate({ identifier: "HeartbeatResponse" })
export type HeartbeatResponse = typeof HeartbeatResponse.Type

export const HandshakeRequest = Schema.Struct({
  /** Protocols that the client speaks, e.g. `twp/1`. */
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
