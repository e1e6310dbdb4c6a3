/** Routes of accounts at servers of tools: of people, and of the platform. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ToolServerId } from "../catalogue/tool-server.ts"
import { ConsentAddress, ToolServerStates } from "../control/tool-account.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, bearerHeaders } from "./parameters.ts"

const params = { id: ToolServerId }
const errors = [...everywhere, ...bearerErrors, "upstream_error"] as const

export class ToolAccountRoutes extends HttpApiGroup.make("toolAccounts")
  .add(
    HttpApiEndpoint.get("toolServers", "/v1/tool-servers", {
      headers: bearerHeaders,
      success: ToolServerStates,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List the servers of tools that want an account of yours, and whether you have connected it",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("connectToolServer", "/v1/tool-servers/:id/connect", {
      headers: bearerHeaders,
      params,
      success: ConsentAddress,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Begin to connect your account at a server of tools",
        description:
          "Open the address in a browser in which you are logged in here. It is valid once, for ten minutes.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("disconnectToolServer", "/v1/tool-servers/:id/account", {
      headers: bearerHeaders,
      params,
      success: HttpApiSchema.NoContent,
      error: errorsOf(errors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Remove your account at a server of tools",
        description: "Its tokens are erased here, and ended at the authorisation server if that can end tokens.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Accounts at servers of tools",
      description: "Accounts of people at servers of tools",
    }),
  ) {}

const adminErrors = [...everywhere, "admin_key_invalid", "not_found", "upstream_error", "forbidden"] as const

export class AdminToolAccounts extends HttpApiGroup.make("adminToolAccounts")
  .add(
    HttpApiEndpoint.get("platformToolServers", "/v1/admin/tool-accounts", {
      headers: adminHeaders,
      success: ToolServerStates,
      error: errorsOf(adminErrors),
    }).annotateMerge(
      OpenApi.annotations({ summary: "List the servers of tools that want an account of the platform" }),
    ),
  )
  .add(
    HttpApiEndpoint.post("connectPlatformToolServer", "/v1/admin/tool-accounts/:id/connect", {
      headers: adminHeaders,
      params,
      success: ConsentAddress,
      error: errorsOf(adminErrors),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Begin to connect the platform's account at a server of tools. Audited.",
        description: "Open the address in a browser. It is valid once, for ten minutes: show it to nobody else.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("disconnectPlatformToolServer", "/v1/admin/tool-accounts/:id", {
      headers: adminHeaders,
      params,
      success: HttpApiSchema.NoContent,
      error: errorsOf(adminErrors),
    }).annotateMerge(OpenApi.annotations({ summary: "Remove the platform's account at a server of tools. Audited." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "The platform's accounts at servers of tools",
      description: "Accounts that are for all callers; requires the admin key",
    }),
  ) {}
