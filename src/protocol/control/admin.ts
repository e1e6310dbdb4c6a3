/** Shapes of the admin routes. */
import { Schema } from "effect"
import { Tier } from "../catalogue/timeouts.ts"
import { ErrorBody, ErrorCode, ErrorDetail } from "../error.ts"
import { Stop } from "../exchange.ts"
import { extraNames } from "../extra-params.ts"
import { Currency, Decimal } from "../usage.ts"
import { Money } from "../values/bounds.ts"
import { storedName } from "../values/text.ts"
import { OwnAwsKeys, OwnAzureClient, OwnGoogleAccount, OwnKey } from "./own-identity.ts"

/** A catalogue to apply, as the text of its file, so that errors can refer to lines. */
export const ApplyRequest = Schema.Struct({
  text: Schema.String.check(Schema.isMaxLength(8 * 1024 * 1024)),
  dryRun: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether organisations, people, teams, applications, keys and budgets that the text no longer contains are removed;
   * otherwise they stay as they are.
   */
  prune: Schema.optionalKey(Schema.Boolean),
  /** SHA-256, in hex, of key secrets by reference: for secrets that the caller can resolve and the gateway cannot. */
  keySha256: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.String.check(
        Schema.isPattern(/^[0-9a-f]{64}$/, { expected: "a SHA-256 digest: 64 hexadecimal digits in lower case" }),
      ),
    ),
  ),
}).annotate({ identifier: "ApplyRequest" })

export const ApplyResponse = Schema.Struct({
  revision: Schema.String,
  changes: Schema.Array(
    Schema.Struct({
      entry: Schema.String,
      change: Schema.Literals(["added", "changed", "removed"]),
      /** The fields that differ in a changed entry, as JSON, durations as `60s`; only for the first entries. */
      fields: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            path: Schema.String,
            before: Schema.optionalKey(Schema.String),
            after: Schema.optionalKey(Schema.String),
          }),
        ),
      ),
    }),
  ),
  /**
   * Organisations, people, teams, applications, keys and budgets that the text no longer contains: with `prune` they are
   * removed, without it they stay as they are.
   */
  dropped: Schema.Array(
    Schema.Struct({
      entry: Schema.String,
      /** The balance and the open holds of an organisation; for the first organisations only. */
      balances: Schema.optionalKey(
        Schema.Array(Schema.Struct({ currency: Currency, available: Decimal, held: Decimal })),
      ),
    }),
  ),
  /** Secrets of new keys. Returned once. */
  minted: Schema.Array(Schema.Struct({ keyId: Schema.String, secret: Schema.String })),
  /** Top-ups that this call credited. */
  credited: Schema.Array(Schema.String),
  warnings: Schema.Array(Schema.String),
}).annotate({ identifier: "ApplyResponse" })
export type ApplyResponse = typeof ApplyResponse.Type

/**
 * The progress of applying a catalogue: reading and checking its text, finding what changes, storing the changes, and taking
 * them up. `done` of `total` entries are stored.
 */
export const ApplyProgress = Schema.Struct({
  step: Schema.Literals(["reading", "comparing", "storing", "taking up"]),
  done: Schema.Int,
  total: Schema.Int,
})
export type ApplyProgress = typeof ApplyProgress.Type

/** An event while a catalogue is applied. */
export const ApplyEvent = Schema.Union([
  Schema.Struct({ event: Schema.Literal("progress"), data: Schema.fromJsonString(ApplyProgress) }),
  Schema.Struct({ event: Schema.Literal("result"), data: Schema.fromJsonString(ApplyResponse) }),
  Schema.Struct({ event: Schema.Literal("error"), data: Schema.fromJsonString(ErrorBody) }),
]).annotate({ identifier: "ApplyEvent" })

/** A top-up. Idempotent by `id`. */
export const TopupRequest = Schema.Struct({
  id: storedName(128),
  org: storedName(64),
  amount: Money,
}).annotate({ identifier: "TopupRequest" })

/** `credited` is false if the id was credited before. */
export const TopupResponse = Schema.Struct({
  credited: Schema.Boolean,
  balance: Decimal,
  currency: Currency,
}).annotate({ identifier: "TopupResponse" })
export type TopupResponse = typeof TopupResponse.Type

/** Times of the timeout tiers in a period. */
export const TierTimesReply = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      /** The model handle. */
      model: Schema.String,
      tier: Tier,
      /** The timeout in force now, in this gateway's environment. */
      limitMs: Schema.Int,
      /** The source of the timeout: a variable, `model`, `vendor` or `platform`, alone or with an environment, or `default`. */
      source: Schema.String,
      /** The timeouts in force in each environment: this gateway's and those that the catalogue names. */
      limits: Schema.Record(Schema.String, Schema.Int),
      /**
       * Numbers of calls that the tier did not end, by time: more than `fromMs`, and at most `upToMs`; null is unbounded.
       * Buckets without calls are absent.
       */
      buckets: Schema.Array(
        Schema.Struct({ fromMs: Schema.Finite, upToMs: Schema.NullOr(Schema.Finite), count: Schema.Int }),
      ),
      /** Calls that the tier ended. */
      ended: Schema.Int,
    }),
  ),
}).annotate({ identifier: "TierTimesReply" })
export type TierTimesReply = typeof TierTimesReply.Type

export const DoctorResponse = Schema.Struct({
  /** Organisations whose books were checked. */
  checked: Schema.Int,
  /** Whether the check has ended; otherwise it goes on, and the next request reports more. */
  isComplete: Schema.Boolean,
  findings: Schema.Array(Schema.Struct({ finding: Schema.String, id: Schema.String })),
  /** Nodes that have allotments, of money and of daily tokens. */
  nodes: Schema.Array(
    Schema.Struct({
      node: Schema.String,
      /** Whether the node renews its lease; if not, its allotments are about to be taken back. */
      isAlive: Schema.Boolean,
      allotments: Schema.Int,
      /** The time when the oldest of them was made. */
      since: Schema.String,
    }),
  ),
  /** The databases of the books: one shard, or all shards over which the books are spread. */
  shards: Schema.Array(
    Schema.Struct({
      shard: Schema.String,
      /** Host and port; empty if the books are on one server. */
      server: Schema.String,
      /** Whether the server answers; if not, nothing is known of the shard. */
      answers: Schema.Boolean,
      organisations: Schema.Int,
      bytes: Schema.Finite,
    }),
  ),
  /** Vendors whose identity does not work now, as this node sees it. */
  identities: Schema.Array(Schema.Struct({ vendor: Schema.String, problem: Schema.String })),
  /** Jobs that a vendor may work on although no call owns them: their gateway died before it had recorded the vendor's answer. */
  lostJobs: Schema.Array(
    Schema.Struct({ org: Schema.String, ref: Schema.String, model: Schema.String, at: Schema.String }),
  ),
}).annotate({ identifier: "DoctorResponse" })
export type DoctorResponse = typeof DoctorResponse.Type

/** The balances of an organisation, its allotments at nodes, and its newest entries, newest first. */
export const LedgerResponse = Schema.Struct({
  balances: Schema.Array(
    Schema.Struct({
      currency: Currency,
      /** The amount that may be spent: paid in, less what was spent and is held. */
      available: Decimal,
      /** Held by exchanges that have run for more than a second, at their last checkpoint. */
      held: Decimal,
      /** The allotments of nodes; part of available and held. */
      allotted: Decimal,
      spent: Decimal,
    }),
  ),
  allotments: Schema.Array(
    Schema.Struct({
      node: Schema.String,
      currency: Currency,
      amount: Decimal,
      since: Schema.String,
      /** Whether the node renews its lease; if not, its allotments are about to be taken back. */
      isAlive: Schema.Boolean,
    }),
  ),
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

/** Checks a vendor. */
export const VendorCheckRequest = Schema.Struct({
  /** The vendor's own name of a model; if absent, one for which the catalogue uses the vendor. */
  model: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(256))),
  /** A catalogue's text that is not applied yet, in which the vendor is looked up; the catalogue in force if absent. */
  text: Schema.optionalKey(ApplyRequest.fields.text),
  /** Whether each optional parameter is tried with a call of its own; for models for chat. */
  fields: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "VendorCheckRequest" })

/**
 * The result for a parameter: `honoured` if the reply shows its effect, `ignored` if the reply should show it and does not,
 * `accepted` if no reply could show it, `refused` by the vendor, `lacking` in the vendor's API.
 */
export const FieldOutcome = Schema.Literals(["honoured", "accepted", "ignored", "refused", "lacking"])
export type FieldOutcome = typeof FieldOutcome.Type

/** The result of one small real call; times in milliseconds. */
export const VendorCheckResponse = Schema.Struct({
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
    Schema.Struct({
      code: ErrorCode,
      message: Schema.String,
      detail: Schema.optionalKey(ErrorDetail),
      /** The probable fault, and the remedy. */
      advice: Schema.optionalKey(Schema.String),
    }),
  ),
  fields: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: Schema.Literals(extraNames),
        outcome: FieldOutcome,
        /** The vendor's status, if it refused. */
        status: Schema.optionalKey(Schema.Int),
      }),
    ),
  ),
}).annotate({ identifier: "VendorCheckResponse" })
export type VendorCheckResponse = typeof VendorCheckResponse.Type

/** An organisation's own key for a vendor, and its own address if it has one. */
export const UpstreamKeyRequest = Schema.Struct({
  /** Printable ASCII without spaces: it is sent in a header. */
  key: Schema.optionalKey(OwnKey),
  /** Instead of a key, an identity at the cloud where the vendor is. */
  aws: Schema.optionalKey(OwnAwsKeys),
  google: Schema.optionalKey(OwnGoogleAccount),
  azure: Schema.optionalKey(OwnAzureClient),
  /** Must be HTTPS and public: it passes the egress guard. */
  baseUrl: Schema.optionalKey(storedName(2048)),
})
  .check(
    Schema.makeFilter(
      ({ key, aws, google, azure }: { readonly [Way in "key" | "aws" | "google" | "azure"]?: unknown }) =>
        [key, aws, google, azure].filter((way) => way !== undefined).length === 1
          ? undefined
          : { path: ["key"], issue: "exactly one of key, aws, google and azure is required" },
    ),
  )
  .annotate({ identifier: "UpstreamKeyRequest" })
export type UpstreamKeyRequest = typeof UpstreamKeyRequest.Type

/** An organisation's upstream keys, without the keys themselves. */
export const UpstreamKeysResponse = Schema.Struct({
  keys: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      baseUrl: Schema.optionalKey(Schema.String),
      /** The last four characters of the key, or of the identity's name. */
      hint: Schema.String,
      updatedAt: Schema.String,
    }),
  ),
}).annotate({ identifier: "UpstreamKeysResponse" })
export type UpstreamKeysResponse = typeof UpstreamKeysResponse.Type

/** The result of verifying the audit log, or a part of it. */
export const AuditResponse = Schema.Struct({
  /** Entries from the first on that are valid. */
  entries: Schema.Int,
  /** Entries of the log. */
  of: Schema.Int,
  /** The hash of the newest entry, in hex. */
  head: Schema.String,
  /** The first entry that is missing or was changed. */
  broken: Schema.optionalKey(Schema.String),
  /** The cursor with which the verification goes on; null at the newest entry. */
  nextCursor: Schema.NullOr(Schema.String),
}).annotate({ identifier: "AuditResponse" })
export type AuditResponse = typeof AuditResponse.Type
