/** The shapes of the admin routes of activity: targets, prices, the catalogue's text and history, the audit log. */
import { Schema } from "effect"
import { Currency, Decimal } from "../usage.ts"
import { ApplyResponse } from "./admin.ts"
import { Invitation } from "./login.ts"

const nextCursor = Schema.NullOr(Schema.String)

/** Vendors and models. Cooldowns are those of all nodes that share a Redis; suspect is what this node suspects. */
export const Targets = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      /** The vendor's own name of the model. */
      model: Schema.String,
      /** Handles that use it. */
      handles: Schema.Array(Schema.String),
      state: Schema.Literals(["healthy", "suspect", "cooling down"]),
      /** The reason why it is cooling down: its breaker opened, the vendor asked for it, is busy, or refuses it. */
      cause: Schema.optionalKey(Schema.Literals(["breaker", "vendor", "busy", "refused"])),
      /** The thing that a refused target lacks: `credential`, `credit`, `permission`, `model`, `region` or `address`. */
      reason: Schema.optionalKey(Schema.String),
      until: Schema.optionalKey(Schema.String),
    }),
  ),
}).annotate({ identifier: "Targets" })
export type Targets = typeof Targets.Type

const tokenPrices = {
  input: Schema.optionalKey(Decimal),
  output: Schema.optionalKey(Decimal),
  cacheRead: Schema.optionalKey(Decimal),
  cacheWrite: Schema.optionalKey(Decimal),
  cacheWrite1h: Schema.optionalKey(Decimal),
}
/** Factors by service tier. */
const TierFactors = Schema.Record(Schema.String, Decimal)

/** Prices per million tokens, or per million units of a dimension; the newest of a model first. */
export const PriceList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      currency: Currency,
      from: Schema.String,
      /** Whether this price is in force. */
      isInForce: Schema.Boolean,
      ...tokenPrices,
      dims: Schema.Record(Schema.String, Decimal),
      tiers: Schema.optionalKey(TierFactors),
      /** The prices of calls with more tokens of input. A price that is absent is as below the threshold. */
      above: Schema.optionalKey(
        Schema.Array(
          Schema.Struct({
            tokens: Schema.Int,
            ...tokenPrices,
            dims: Schema.optionalKey(Schema.Record(Schema.String, Decimal)),
            tiers: Schema.optionalKey(TierFactors),
          }),
        ),
      ),
    }),
  ),
}).annotate({ identifier: "PriceList" })
export type PriceList = typeof PriceList.Type

export const CatalogueText = Schema.Struct({
  revision: Schema.String,
  /** The catalogue's text as it was applied; absent if an older version of Weir applied it. */
  text: Schema.optionalKey(Schema.String),
  /** The file that this gateway watches: it is applied at each start and change, and replaces any other catalogue. */
  watchedFile: Schema.optionalKey(
    Schema.Struct({
      path: Schema.String,
      /** Whether this revision is in force. */
      isInForce: Schema.Boolean,
    }),
  ),
}).annotate({ identifier: "CatalogueText" })
export type CatalogueText = typeof CatalogueText.Type

/** `admin`: an operator; `file`: the watched file; `development`: the catalogue that the gateway brings along. */
export const AppliedBy = Schema.Literals(["admin", "file", "development"])
export type AppliedBy = typeof AppliedBy.Type

const revisionFields = {
  revision: Schema.String,
  appliedAt: Schema.String,
  /** Null if an older version of Weir applied it. */
  appliedBy: Schema.NullOr(AppliedBy),
  fingerprint: Schema.String,
}

export const CatalogueRevisions = Schema.Struct({
  data: Schema.Array(Schema.Struct(revisionFields)),
  nextCursor,
}).annotate({ identifier: "CatalogueRevisions" })
export type CatalogueRevisions = typeof CatalogueRevisions.Type

/** One revision. Applying its text brings it back, as a new revision. */
export const CatalogueRevision = Schema.Struct({
  ...revisionFields,
  /** The text as it was applied; kept for the newest 50 revisions. */
  text: Schema.optionalKey(Schema.String),
  /** The revision with which it is compared. */
  against: Schema.String,
  /** The changes from that revision to this one; absent if this version of Weir cannot read one of them. */
  changes: Schema.optionalKey(ApplyResponse.fields.changes),
}).annotate({ identifier: "CatalogueRevision" })
export type CatalogueRevision = typeof CatalogueRevision.Type

export const AuditEntries = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      /** The entry's number in the log. */
      id: Schema.String,
      at: Schema.String,
      action: Schema.String,
      org: Schema.NullOr(Schema.String),
      actorType: Schema.Literals(["user", "org", "service"]),
      actor: Schema.String,
      detail: Schema.Json,
    }),
  ),
  nextCursor,
}).annotate({ identifier: "AuditEntries" })
export type AuditEntries = typeof AuditEntries.Type

export const OperatorLogin = Schema.Struct({ adminKey: Schema.NonEmptyString.check(Schema.isMaxLength(512)) }).annotate(
  {
    identifier: "OperatorLogin",
  },
)

/** The operator and the person who are logged in with this browser. */
export const BrowserSession = Schema.Struct({
  environment: Schema.String,
  version: Schema.String,
  /** Absent if no operator has signed in. */
  operator: Schema.optionalKey(Schema.Struct({ expiresAt: Schema.String })),
  /** Absent if nobody has logged in. */
  person: Schema.optionalKey(
    Schema.Struct({
      email: Schema.String,
      orgs: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, role: Schema.String })),
      /** Invitations that wait for an answer; absent if there are none. */
      invitations: Schema.optionalKey(Schema.Array(Invitation)),
    }),
  ),
}).annotate({ identifier: "BrowserSession" })
export type BrowserSession = typeof BrowserSession.Type
