/** Admin routes of kept responses: their list, without content, and their erasure. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ErasedResponses, KeptResponseList } from "../control/kept-response.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { eraseFilters, ownerFilters } from "./owner-filters.ts"
import { adminHeaders, pageQuery } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid", "not_found"] as const

export class AdminResponses extends HttpApiGroup.make("adminResponses")
  .add(
    HttpApiEndpoint.get("listResponses", "/v1/admin/orgs/:org/responses", {
      headers: adminHeaders,
      params: { org: PathId },
      query: { ...pageQuery, ...ownerFilters },
      success: KeptResponseList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the responses and conversations that an organisation keeps, newest first",
        description: "Their owners, sizes and times. Their content is sealed, and no operator can read it here.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("eraseResponses", "/v1/admin/orgs/:org/responses", {
      headers: adminHeaders,
      params: { org: PathId },
      query: eraseFilters,
      success: ErasedResponses,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Erase responses and conversations of an organisation",
        description:
          "Erases the responses to which all filters apply, with their items, their events and the replays of their calls, and the conversations; with `before`, those that have not changed since, and the older items of others. Running responses are stopped. A thread cannot be continued if a part of it was erased. Audited.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("eraseResponse", "/v1/admin/orgs/:org/responses/:id", {
      headers: adminHeaders,
      params: { org: PathId, id: PathId },
      success: ErasedResponses,
      error: errorsOf(errors),
    }).annotateMerge(OpenApi.annotations({ summary: "Erase a response or a conversation. Audited." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Kept responses",
      description: "Responses that organisations keep; requires the admin key",
    }),
  ) {}
