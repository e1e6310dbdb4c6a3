/** Admin routes of clients' batches: their list, without requests and answers, and their end. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ClientBatchEntry, ClientBatchList } from "../control/client-batch.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { ownerFilters } from "./owner-filters.ts"
import { adminHeaders, pageQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid", "not_found"] as const

export class AdminBatches extends HttpApiGroup.make("adminBatches")
  .add(
    HttpApiEndpoint.get("listBatches", "/v1/admin/orgs/:org/batches", {
      headers: adminHeaders,
      params: { org: PathId },
      query: { ...pageQuery, ...ownerFilters, open: Schema.optional(Schema.Literals(["true", "false"])) },
      success: ClientBatchList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the batches of an organisation's clients, newest first",
        description:
          "Their owners, states, counts and money; with `open=true` only those that have not ended. Their requests and answers are sealed, and no operator can read them here.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("cancelBatch", "/v1/admin/orgs/:org/batches/:id/cancel", {
      headers: adminHeaders,
      params: { org: PathId, id: PathId },
      success: ClientBatchEntry,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Cancel a batch. Audited.",
        description:
          "Nothing more of it is begun; calls that run are answered and billed, and what is left of its money goes back. One that has ended stays as it is.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Clients' batches",
      description: "Batches that clients have made; requires the admin key",
    }),
  ) {}
