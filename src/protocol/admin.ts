/** The admin routes' shapes. */
import { Schema } from "effect"
import { Tier } from "./catalogue.ts"
import { ErrorCode, ErrorDetail } from "./error.ts"
import { Stop } from "./exchange.ts"
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
/** What the timeout tiers took in a range of time. */
export const TierTimesReply = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      /** The handle that callers use. */
      model: Schema.String,
      tier: Tier,
      /** The timeout that is in force now. */
      limitMs: Schema.Int,
      /** Calls that took at most so long, and longer than the bucket before allows; null has no end. */
      buckets: Schema.Array(Schema.Struct({ upToMs: Schema.NullOr(Schema.Finite), count: Schema.Int })),
    }),
  ),
}).annotate({ identifier: "TierTimesReply" })
export type TierTimesReply = typeof TierTimesReply.Type

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

/** Tries a vendor out. */
export const TrialRequest = Schema.Struct({
  /** The vendor's own name of a model; one that the catalogue has the vendor for when absent. */
  model: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(256))),
}).annotate({ identifier: "TrialRequest" })

/** What came of one small real call; times in milliseconds. */
export const TrialResponse = Schema.Struct({
  vendor: Schema.String,
  dialect: Schema.String,
  model: Schema.String,
  ok: Schema.Boolean,
  millis: Schema.Int,
  firstFrameMs: Schema.optionalKey(Schema.Int),
  text: Schema.String,
  stop: Schema.optionalKey(Stop),
  usage: Schema.optionalKey(
    Schema.Struct({
      inTokens: Schema.Int,
      outTokens: Schema.Int,
      cacheReadTokens: Schema.Int,
      cacheWriteTokens: Schema.Int,
      dims: Schema.Record(Schema.String, Schema.Int),
    }),
  ),
  error: Schema.optionalKey(
    Schema.Struct({ code: ErrorCode, message: Schema.String, detail: Schema.optionalKey(ErrorDetail) }),
  ),
}).annotate({ identifier: "TrialResponse" })
export type TrialResponse = typeof TrialResponse.Type

/** An organisation's own key for a vendor of the catalogue, and where it holds if not at the vendor's own address. */
export const UpstreamKeyRequest = Schema.Struct({
  key: Schema.NonEmptyString.check(Schema.isMaxLength(4096)),
  /** HTTPS, and public: the egress guard judges it. */
  baseUrl: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(2048))),
}).annotate({ identifier: "UpstreamKeyRequest" })

/** The keys that an organisation brought; the keys themselves are never told again. */
export const UpstreamKeysResponse = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      baseUrl: Schema.optionalKey(Schema.String),
      /** The key's last four characters. */
      hint: Schema.String,
      updatedAt: Schema.String,
    }),
  ),
}).annotate({ identifier: "UpstreamKeysResponse" })
export type UpstreamKeysResponse = typeof UpstreamKeysResponse.Type

/** Whether the audit log is what was written. */
export const AuditResponse = Schema.Struct({
  entries: Schema.Int,
  /** The hash of the newest entry, in hex. */
  head: Schema.String,
  /** The first entry that is missing or not what was written. */
  broken: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "AuditResponse" })
export type AuditResponse = typeof AuditResponse.Type
