/** Usage records and ledger entries of an organisation, with cursors. Source: decisions "Control routes". */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { Decimal } from "./usage.ts"

/** A table in text. RFC 4180. */
export const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))

const NextCursor = Schema.NullOr(Schema.String)

export const UsageStatement = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      /** The request id that the service issued. */
      requestId: Schema.String,
      at: Schema.String,
      appId: Schema.String,
      keyId: Schema.String,
      sessionId: Schema.optionalKey(Schema.String),
      purpose: Schema.String,
      source: Schema.String,
      model: Schema.String,
      inTokens: Schema.Int,
      outTokens: Schema.Int,
      cacheReadTokens: Schema.Int,
      cacheWriteTokens: Schema.Int,
      dims: Schema.Record(Schema.String, Schema.Int),
      estimatedReason: Schema.optionalKey(Schema.String),
      stop: Schema.String,
      cost: Decimal,
      cacheNetSaving: Decimal,
      currency: Schema.String,
    }),
  ),
  /** Cursor of the next page; null on the last page. */
  nextCursor: NextCursor,
}).annotate({ identifier: "UsageStatement" })
export type UsageStatement = typeof UsageStatement.Type

export const LedgerStatement = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      at: Schema.String,
      /** `charge`: an exchange; `correct`: what a crash had charged was corrected. */
      kind: Schema.Literals(["topup", "charge", "correct", "opening"]),
      account: Schema.Literals(["available", "revenue", "funding"]),
      amount: Decimal,
      currency: Schema.String,
      /** The id of the request or top-up. */
      ref: Schema.String,
    }),
  ),
  nextCursor: NextCursor,
}).annotate({ identifier: "LedgerStatement" })
export type LedgerStatement = typeof LedgerStatement.Type
