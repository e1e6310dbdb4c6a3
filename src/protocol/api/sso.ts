/** Routes of logging in at an organisation's identity provider. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { TokenReply } from "../login.ts"
import { SsoCode, SsoLinkConfirm } from "../sso.ts"
import { errorsOf, strictErrors } from "./errors.ts"
import { header } from "./headers.ts"

const Redirect = HttpApiSchema.Empty(302)
const providerErrors = ["idp_untrusted", "upstream_error", "not_found"] as const

export class Sso extends HttpApiGroup.make("sso")
  .add(
    HttpApiEndpoint.get("ssoStart", "/v1/auth/sso/start", {
      query: {
        org: header("The organisation's id; required"),
        returnTo: header(
          "One of the addresses that the catalogue allows the organisation; Weir's own pages when absent",
        ),
        state: header("Comes back to `returnTo` beside the code"),
        device: header("A device's user code, to go on with on Weir's own pages"),
      },
      success: Redirect,
      error: errorsOf([...strictErrors, ...providerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Go to an organisation's identity provider",
        description: "OpenID Connect, authorization code flow with PKCE. The browser keeps a cookie until it is back.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("ssoCallback", "/v1/auth/sso/callback", {
      query: Schema.Record(Schema.String, Schema.String),
      success: Redirect,
      error: errorsOf([
        ...strictErrors,
        ...providerErrors,
        "forbidden",
        "otp_rate_limited",
        "auth_channel_undelivered",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Come back from the identity provider",
        description:
          "Leads on to `returnTo` with `code` and `state`, or to Weir's own pages. Who comes for the first time is led to `/auth/sso/link?linkToken=` and sent a code by mail.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("ssoLinkConfirm", "/v1/auth/sso/link/confirm", {
      payload: SsoLinkConfirm,
      success: SsoCode,
      error: errorsOf([...strictErrors, "otp_invalid", "otp_rate_limited", "forbidden"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Confirm with a code by mail whom a provider's new subject is",
        description: "The reply's one-time login code is good for a minute. A link is good for ten, and once.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("ssoExchange", "/v1/auth/sso/exchange", {
      payload: SsoCode,
      success: TokenReply,
      error: errorsOf([...strictErrors, "unauthorized", "forbidden"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Tokens for a one-time login code",
        description: "They act in the organisation alone whose identity provider was asked.",
      }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Logging in at an organisation" })) {}
