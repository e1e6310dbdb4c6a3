/** The admin routes' shapes. */
import { Schema } from "effect"

/** A catalogue to apply: the text of the file, so that errors can name its lines. */
export const ApplyRequest = Schema.Struct({
  text: Schema.String.check(Schema.isMaxLength(8 * 1024 * 1024)),
  dryRun: Schema.optionalKey(Schema.Boolean),
  /** Key secrets that the caller can resolve and the gateway perhaps not, by reference: their SHA-256 in hex. */
  keySha256: Schema.optionalKey(Schema.Record(Schema.String, Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)))),
}).annotate({ identifier: "ApplyRequest" })

export const ApplyResponse = Schema.Struct({
  revision: Schema.String,
  changes: Schema.Array(
    Schema.Struct({ entry: Schema.String, change: Schema.Literals(["added", "changed", "removed"]) }),
  ),
  /** Secrets of new keys; told here once. */
  minted: Schema.Array(Schema.Struct({ keyId: Schema.String, secret: Schema.String })),
  /** Top-ups credited now. */
  credited: Schema.Array(Schema.String),
  warnings: Schema.Array(Schema.String),
}).annotate({ identifier: "ApplyResponse" })
export type ApplyResponse = typeof ApplyResponse.Type
