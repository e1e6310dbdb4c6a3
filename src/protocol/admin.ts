/** The admin routes' shapes. */
import { Schema } from "effect"
import { Currency, Decimal } from "./usage.ts"

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

/** A credit; the same id credits once. */
export const TopupRequest = Schema.Struct({
  id: Schema.NonEmptyString.check(Schema.isMaxLength(128)),
  org: Schema.NonEmptyString.check(Schema.isMaxLength(64)),
  amount: Decimal.check(Schema.isPattern(/^[^-]/, { expected: "a decimal that is not negative" })),
}).annotate({ identifier: "TopupRequest" })

/** `credited` is false where the id was credited before. */
export const TopupResponse = Schema.Struct({
  credited: Schema.Boolean,
  balance: Decimal,
  currency: Currency,
}).annotate({ identifier: "TopupResponse" })
export type TopupResponse = typeof TopupResponse.Type

/** What is wrong with the books; sound where there are no findings. */
export const DoctorResponse = Schema.Struct({
  findings: Schema.Array(Schema.Struct({ finding: Schema.String, id: Schema.String })),
}).annotate({ identifier: "DoctorResponse" })
export type DoctorResponse = typeof DoctorResponse.Type

/** The newest entries of an org, newest first, and what it has. */
export const LedgerResponse = Schema.Struct({
  balances: Schema.Array(Schema.Struct({ currency: Currency, available: Decimal, held: Decimal })),
  entries: Schema.Array(
    Schema.Struct({
      at: Schema.String,
      kind: Schema.String,
      account: Schema.String,
      amount: Decimal,
      currency: Currency,
      ref: Schema.String,
    }),
  ),
}).annotate({ identifier: "LedgerResponse" })
export type LedgerResponse = typeof LedgerResponse.Type
