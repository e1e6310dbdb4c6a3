/** Routes of logging in at an organisation's identity provider. */

import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { TokenReply } from "../control/login.ts"
import { SsoCode, SsoLinkConfirm } from "../control/sso.ts"
import { StoredText } from "../values/text.ts"
import { errorsOf, strictErrors } from "./errors.ts"
import { parameter } from "./parameters.ts"

const Redirect = HttpApiSchema.Empty(302)
const providerErrors = ["idp_untrusted", "upstream_error", "not_found"] as const

export class Sso extends HttpApiGroup.make("sso")
  .add(
    HttpApiEndpoint.get("ssoStart", "/v1/auth/sso/start", {
      query: {
        org: parameter("The organisation's id; required"),
        returnTo: parameter("An address that the catalogue allows; Weir's own pages if absent"),
        state: parameter("Returned to `returnTo` with the code"),
        device: parameter("A device's user code, to approve on Weir's own pages"),
        request: parameter("A client's request, to decide on at Weir's own pages"),
      },
      success: Redirect,
      error: errorsOf([...strictErrors, ...providerErrors]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Start a login at an organisation's identity provider",
        description: "OpenID Connect, authorization code flow with PKCE. Sets a cookie until the callback.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("ssoCallback", "/v1/auth/sso/callback", {
      query: Schema.Record(StoredText, StoredText),
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
        summary: "Handle the identity provider's callback",
        description:
          "Redirects to `returnTo` with `code` and `state`, or to Weir's own pages. At the first login, redirects to `/auth/sso/link?linkToken=` and mails a code.",
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
        summary: "Confirm a provider's new subject with a mailed code",
        description: "The reply's login code is valid for a minute. A link is valid for ten minutes and one use.",
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
        summary: "Exchange a one-time login code for tokens",
        description: "The tokens act only in the organisation of the identity provider.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Single sign-on", description: "Login at an organisation's OpenID Connect provider" }),
  ) {}
