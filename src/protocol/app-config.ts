/** What an organisation sets for one of its applications. Source: decisions "Control routes beyond the listed ones". */
import { Schema } from "effect"

/** An address, or a network in CIDR notation. */
const Network = Schema.NonEmptyString.check(Schema.isMaxLength(64))

/** What is left out falls back to what the operator's catalogue says. */
export const AppConfig = Schema.Struct({
  /** The application's own search vendor; null for the platform's choice. */
  searchProviderId: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString.check(Schema.isMaxLength(64)))),
  requireSignature: Schema.optionalKey(Schema.Boolean),
  quota: Schema.optionalKey(
    Schema.Struct({
      rpm: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000 }))),
    }),
  ),
  /** Addresses or networks; empty allows all. */
  ipAllow: Schema.optionalKey(Schema.Array(Network).check(Schema.isMaxLength(256))),
  disabled: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "AppConfig" })
export type AppConfig = typeof AppConfig.Type
