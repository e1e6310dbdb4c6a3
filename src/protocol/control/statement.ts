/** Usage records and ledger entries of an organisation, with cursors. */
import { Schema, Struct } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { Decimal } from "../usage.ts"
import { usageFields } from "./usage-record.ts"

/** A table in text. RFC 4180. */
export const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv" }))

const NextCursor = Schema.NullOr(Schema.String)

const statementFields = Struct.omit(usageFields, ["ref", "orgId", "vendor", "connectMs", "ttfbMs", "idleMs", "totalMs"])
/** The fields of a record that an organisation gets. */
export const usageStatementFields = Struct.keys(statementFields)

export const UsageStatement = Schema.Struct({
  data: Schema.Array(Schema.Struct(statementFields)),
  /** Cursor of the next page; null on the last page. */
  nextCursor: NextCursor,
}).annotate({ identifier: "UsageStatement" })
export type UsageStatement = typeof UsageStatement.Type

export const LedgerStatement = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      at: Schema.String,
      /** `charge`: an exchange; `correct`: a correction of what a crash had charged. */
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
