/** Routes of a browser's session. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { BrowserSession, OperatorLogin } from "../control/activity.ts"
import { errorsOf, everywhere, strictErrors } from "./errors.ts"

export class Browser extends HttpApiGroup.make("browser")
  .add(
    HttpApiEndpoint.get("browserSession", "/v1/session", {
      success: BrowserSession,
      error: errorsOf(everywhere),
    }).annotateMerge(
      OpenApi.annotations({ summary: "Get the operator and the person who are logged in with this browser" }),
    ),
  )
  .add(
    HttpApiEndpoint.post("beginOperatorSession", "/v1/session/operator", {
      payload: OperatorLogin,
      success: BrowserSession,
      error: errorsOf([...strictErrors, "admin_key_invalid", "forbidden"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Sign in as an operator, with a cookie. Audited.",
        description:
          "The cookie is valid for eight hours. Requests that change something with it need the `Origin` of this gateway and the header `x-svc-console`.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("endBrowserSession", "/v1/session", {
      success: HttpApiSchema.NoContent,
      error: errorsOf([...everywhere, "forbidden"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Sign out: ends the sessions of this browser. Audited." })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Browser", description: "Sessions of browsers" })) {}
