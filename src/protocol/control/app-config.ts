/** An organisation's configuration of one application. */
import { Schema } from "effect"
import { PerMinute } from "../values/bounds.ts"
import { storedName } from "../values/text.ts"

/** An address, or a network in CIDR notation. */
const Network = storedName(64)

/** Absent members fall back to the catalogue. */
export const AppConfig = Schema.Struct({
  /** The application's search provider; null for the platform's choice. */
  searchProviderId: Schema.optionalKey(Schema.NullOr(storedName(64))),
  requireSignature: Schema.optionalKey(Schema.Boolean),
  quota: Schema.optionalKey(
    Schema.Struct({
      rpm: Schema.optionalKey(PerMinute),
    }),
  ),
  /** Addresses or networks; an empty list allows all. */
  ipAllow: Schema.optionalKey(Schema.Array(Network).check(Schema.isMaxLength(256))),
  disabled: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "AppConfig" })
export type AppConfig = typeof AppConfig.Type
