/** Routes of applications and plans. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AppConfig } from "../app-config.ts"
import { AppTokenRequest, AppTokenResponse } from "../app-token.ts"
import { PlanUsage } from "../plan-usage.ts"
import { SearchDirectory } from "../search.ts"
import { PathId } from "../text.ts"
import { appErrors, bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { appHeaders, bearerHeaders } from "./headers.ts"

export class Applications extends HttpApiGroup.make("applications")
  .add(
    HttpApiEndpoint.post("appToken", "/v1/app-tokens", {
      headers: appHeaders,
      payload: AppTokenRequest,
      success: AppTokenResponse,
      error: errorsOf([
        ...everywhere,
        ...appErrors,
        "plan_concurrency_exceeded",
        "plan_end_users_exceeded",
        "plan_gate_unavailable",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Mint a token for one of the application's end users",
        description: "It reads the plan's limits and takes no slot. The token is told once.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("appConfig", "/v1/apps/:id/config", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: AppConfig,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "What the organisation has set for one of its applications" })),
  )
  .add(
    HttpApiEndpoint.put("setAppConfig", "/v1/apps/:id/config", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: AppConfig,
      success: AppConfig,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set it; what is left out falls back to the catalogue",
        description: "Owners and admins.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("planUsage", "/v1/plan/usage", {
      headers: bearerHeaders,
      query: { days: Schema.optionalKey(Schema.String) },
      success: PlanUsage,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "The curve of the plan's concurrency",
        description: "`days`: 1 to 90, 30 when absent; today is beside them, live. Days are UTC+8.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("searchProviders", "/v1/search-providers", {
      headers: bearerHeaders,
      success: SearchDirectory,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "The search providers that are active, in failover order" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Applications and plans" })) {}
