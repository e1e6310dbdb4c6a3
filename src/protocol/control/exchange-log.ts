/** Exchanges that have ended or are open, and one from end to end. Never a prompt or an answer. */
import { Schema, Struct } from "effect"
import { Currency, Decimal } from "../usage.ts"
import { entryOf } from "../values/entry.ts"
import { logNames, usageFields } from "./usage-record.ts"

const nextCursor = Schema.NullOr(Schema.String)

const recordFields = Struct.omit(usageFields, ["source", "dims", "connectMs", "idleMs"])
/** Names of fields in the log, each with its field of the usage record. */
export const loggedFields = Struct.keys(recordFields).map(
  (field) => [entryOf(logNames, field) ?? field, field] as const,
)

/** An exchange that has ended: billed, or failed without a bill. */
export const LoggedExchange = Schema.Struct({
  ...Struct.renameKeys(recordFields, logNames),
  /** The vendor that answered; of a call that failed, the vendor of the last try; empty if none was called. */
  vendor: Schema.String,
  // An exchange that failed may have none of these.
  requestId: Schema.optionalKey(Schema.String),
  stop: Schema.optionalKey(Schema.String),
  currency: Schema.optionalKey(Currency),
  /** The error code of an exchange that failed, or that was billed and broke off. */
  code: Schema.optionalKey(Schema.String),
  isBilled: Schema.Boolean,
})
export type LoggedExchange = typeof LoggedExchange.Type

export const ExchangeLogPage = Schema.Struct({ data: Schema.Array(LoggedExchange), nextCursor }).annotate({
  identifier: "ExchangeLogPage",
})
export type ExchangeLogPage = typeof ExchangeLogPage.Type

export const ExchangeDetail = Schema.Struct({
  ...LoggedExchange.fields,
  dims: Schema.Record(Schema.String, Schema.Int),
  /** The time of each tier at the vendor that answered, in milliseconds. */
  tiers: Schema.Record(Schema.String, Schema.Int),
  /** Vendor calls that failed, in order; times in milliseconds after the exchange began. */
  attempts: Schema.Array(
    Schema.Struct({
      vendor: Schema.String,
      model: Schema.String,
      atMs: Schema.Int,
      tookMs: Schema.Int,
      error: Schema.String,
    }),
  ),
  /** The billed amounts, at the price in force at the time. Absent if the catalogue no longer has that price. */
  lines: Schema.optionalKey(
    Schema.Array(Schema.Struct({ dimension: Schema.String, count: Schema.Int, perMillion: Decimal, cost: Decimal })),
  ),
  transfers: Schema.Array(
    Schema.Struct({
      at: Schema.String,
      kind: Schema.String,
      from: Schema.String,
      to: Schema.String,
      amount: Decimal,
      currency: Currency,
    }),
  ),
  traceId: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "ExchangeDetail" })
export type ExchangeDetail = typeof ExchangeDetail.Type

/** Exchanges that run now, on all nodes, the oldest first, at most 500 a node. */
export const OpenExchanges = Schema.Struct({
  /** The number of all open exchanges. */
  open: Schema.Int,
  nodes: Schema.Int,
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      node: Schema.String,
      /** The kind of the call. */
      kind: Schema.String,
      org: Schema.String,
      app: Schema.String,
      key: Schema.String,
      model: Schema.String,
      /** Vendor and model of the running call; absent before the first. */
      target: Schema.optionalKey(Schema.String),
      startedAt: Schema.String,
      /** The size of the answer so far. */
      bytes: Schema.Int,
      state: Schema.Literals(["calling", "streaming", "settling"]),
      failedCalls: Schema.Int,
    }),
  ),
  /** Realtime sessions, including those in which nobody speaks now. */
  sessions: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      node: Schema.String,
      org: Schema.String,
      app: Schema.String,
      key: Schema.String,
      model: Schema.String,
      /** Vendor and model. */
      target: Schema.String,
      startedAt: Schema.String,
      /** Responses that have ended. */
      responses: Schema.Int,
      /** Seconds of sound, in tenths. */
      secondsIn: Schema.Finite,
      secondsOut: Schema.Finite,
    }),
  ),
}).annotate({ identifier: "OpenExchanges" })
export type OpenExchanges = typeof OpenExchanges.Type
