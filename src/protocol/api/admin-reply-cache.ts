/** Admin routes of the reply cache. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ClearedReplies, ReplyCacheReport } from "../control/reply-cache.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, parameter, summaryQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid"] as const

export class AdminReplyCache extends HttpApiGroup.make("adminReplyCache")
  .add(
    HttpApiEndpoint.get("replyCacheReport", "/v1/admin/reply-cache", {
      headers: adminHeaders,
      query: {
        from: summaryQuery.from,
        to: summaryQuery.to,
        by: parameter("The groups: `model` (if absent) or `org`"),
        org: parameter("Only of this organisation"),
        model: summaryQuery.model,
      },
      success: ReplyCacheReport,
      error: errorsOf(errors),
    }).annotateMerge(OpenApi.annotations({ summary: "Get statistics of the reply cache, by model or organisation" })),
  )
  .add(
    HttpApiEndpoint.delete("clearReplyCache", "/v1/admin/orgs/:org/reply-cache", {
      headers: adminHeaders,
      params: { org: PathId },
      query: { model: parameter("Only replies of this model") },
      success: ClearedReplies,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Empty the reply cache of an organisation",
        description:
          "Replies that are being made now are not stored either. `removed` counts the shared store; nodes that keep replies in memory empty it within two seconds.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Reply cache", description: "Stored replies; requires the admin key" }),
  ) {}
