/** Routes of usage records and ledger entries. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Csv, LedgerStatement, UsageStatement } from "../control/statement.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders, pageQuery, parameter } from "./parameters.ts"

const description =
  "Requires owner or admin. `limit`: 1 to 200, 50 if absent; `cursor`: the `nextCursor` of the previous page."
const error = errorsOf([...everywhere, ...bearerErrors])

export class StatementRoutes extends HttpApiGroup.make("statements")
  .add(
    HttpApiEndpoint.get("usageStatement", "/v1/usage", {
      headers: bearerHeaders,
      query: pageQuery,
      success: UsageStatement,
      error,
    }).annotateMerge(OpenApi.annotations({ summary: "List usage records, newest first", description })),
  )
  .add(
    HttpApiEndpoint.get("ledgerStatement", "/v1/ledger", {
      headers: bearerHeaders,
      query: pageQuery,
      success: LedgerStatement,
      error,
    }).annotateMerge(OpenApi.annotations({ summary: "List ledger entries, newest first", description })),
  )
  .add(
    HttpApiEndpoint.get("usageCsv", "/v1/usage.csv", {
      headers: bearerHeaders,
      query: { org: parameter("The organisation's id, where a header cannot be sent") },
      success: Csv,
      error,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get all usage records that are kept as CSV, newest first",
        description: "Requires owner or admin. RFC 4180.",
      }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Statements", description: "An organisation's usage and ledger" })) {}
