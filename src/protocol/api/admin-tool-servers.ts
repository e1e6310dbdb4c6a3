/** Admin routes of servers of tools. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AgreedTools, AgreeTerms, ChangedTools, ToolServerDetail, ToolServerList } from "../control/tool-servers.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, parameter } from "./parameters.ts"

const errors = [...everywhere, "admin_key_invalid"] as const
const params = { server: PathId }

export class AdminToolServers extends HttpApiGroup.make("adminToolServers")
  .add(
    HttpApiEndpoint.get("listToolServers", "/v1/admin/tool-servers", {
      headers: adminHeaders,
      success: ToolServerList,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List servers of tools, with their tools and prices",
        description: "Each server is asked now, with ten seconds for its answer.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("getToolServer", "/v1/admin/tool-servers/:server", {
      headers: adminHeaders,
      params,
      success: ToolServerDetail,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Get a server of tools, with the definitions of its tools" })),
  )
  .add(
    HttpApiEndpoint.post("forgetToolList", "/v1/admin/tool-servers/:server/forget", {
      headers: adminHeaders,
      params,
      success: HttpApiSchema.NoContent,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Forget the lists of a server of tools",
        description: "The next caller at this node gets fresh ones. Nodes keep lists for a minute.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listChangedTools", "/v1/admin/changed-tools", {
      headers: adminHeaders,
      query: { server: parameter("Only of this server") },
      success: ChangedTools,
      error: errorsOf([...errors, "not_found"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List tools whose definition has changed, and that wait for agreement",
        description: "They are held back: no caller sees or calls them.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("agreeToTools", "/v1/admin/tool-servers/:server/agree", {
      headers: adminHeaders,
      params,
      payload: AgreeTerms,
      success: AgreedTools,
      error: errorsOf([...errors, "not_found", "conflict"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Agree to changed definitions of a server's tools",
        description:
          "This node offers them at once, the others within a minute. `conflict` if none of the named tools waits with the definition that was seen.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Servers of tools", description: "Tools and their changes; requires the admin key" }),
  ) {}
