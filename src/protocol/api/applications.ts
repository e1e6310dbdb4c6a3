/** Routes of applications and plans. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AppConfig } from "../control/app-config.ts"
import { AppTokenRequest, AppTokenResponse } from "../control/app-token.ts"
import { PlanUsage } from "../control/plan-usage.ts"
import { SearchDirectory } from "../kinds/search.ts"
import { PathId } from "../values/text.ts"
import { appErrors, bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { appHeaders, bearerHeaders, parameter } from "./parameters.ts"

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
        summary: "Mint an end-user token",
        description: "Checks the plan's limits and takes no slot. The token is returned once.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("appConfig", "/v1/apps/:id/config", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: AppConfig,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "Get an application's configuration" })),
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
        summary: "Replace an application's configuration",
        description: "Requires owner or admin.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("planUsage", "/v1/plan/usage", {
      headers: bearerHeaders,
      query: { days: parameter("1 to 90, 30 if absent") },
      success: PlanUsage,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Get the plan's concurrency over time",
        description: "`days`: 1 to 90, 30 if absent; today is separate and live. Days are UTC+8.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("searchProviders", "/v1/search-providers", {
      headers: bearerHeaders,
      success: SearchDirectory,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "List active search providers, in failover order" })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Applications and plans",
      description: "An organisation's applications, end-user tokens and plan",
    }),
  ) {}
