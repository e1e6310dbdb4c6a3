/** The token of an organisation's directory. */
import { Schema } from "effect"

export const ScimState = Schema.Struct({
  enabled: Schema.Boolean,
  /** When the present token was made. */
  madeAt: Schema.optionalKey(Schema.String),
  /** The last request of the directory, to the minute. */
  lastUsedAt: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "ScimState" })
export type ScimState = typeof ScimState.Type

export const ScimToken = Schema.Struct({
  /** Returned once. */
  token: Schema.String,
  madeAt: Schema.String,
  /** The address for the directory: `/scim/v2` of this gateway. */
  url: Schema.String,
}).annotate({ identifier: "ScimToken" })
export type ScimToken = typeof ScimToken.Type
