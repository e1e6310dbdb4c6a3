/** Routes of logging in by mailed code, refreshing and logging out. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { JwkSet, Me, OtpAccepted, OtpRequest, OtpVerify, RefreshRequest, TokenReply } from "../control/login.ts"
import { PathId } from "../values/text.ts"
import { errorsOf, everywhere, strictErrors } from "./errors.ts"
import { parameter } from "./parameters.ts"

const authorization = parameter("`Bearer` and an access token, or a token with the scope `control`; required")
const answering = {
  headers: { authorization },
  params: { org: PathId },
  success: HttpApiSchema.NoContent,
  error: errorsOf([...everywhere, "unauthorized", "token_expired", "forbidden", "not_found"]),
} as const

export class Login extends HttpApiGroup.make("login")
  .add(
    HttpApiEndpoint.post("otpRequest", "/v1/auth/otp/request", {
      payload: OtpRequest,
      success: OtpAccepted.pipe(HttpApiSchema.status(202)),
      error: errorsOf([...strictErrors, "auth_channel_undelivered"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Mail a one-time code",
        description: "The reply is the same whether or not the address has an account.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("otpVerify", "/v1/auth/otp/verify", {
      payload: OtpVerify,
      success: TokenReply,
      error: errorsOf([...strictErrors, "otp_invalid", "otp_rate_limited", "forbidden"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Log in with a mailed code",
        description:
          "The first login of an address creates its account. A code is valid for ten minutes, one use and five attempts.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("refresh", "/v1/auth/refresh", {
      payload: RefreshRequest,
      success: TokenReply,
      error: errorsOf([...strictErrors, "unauthorized", "token_expired", "forbidden"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Refresh the tokens",
        description: "A refresh token is valid for one use. A second use ends the login, because the token was stolen.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("logout", "/v1/auth/logout", {
      payload: RefreshRequest,
      success: HttpApiSchema.NoContent,
      error: errorsOf(strictErrors),
    }).annotateMerge(OpenApi.annotations({ summary: "Log out. Repeating it is not an error." })),
  )
  .add(
    HttpApiEndpoint.get("me", "/v1/me", {
      headers: { authorization },
      success: Me,
      error: errorsOf([...everywhere, "unauthorized", "token_expired", "forbidden"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Get the token's principal, its organisations and invitations" })),
  )
  .add(
    HttpApiEndpoint.post("acceptInvitation", "/v1/invitations/:org/accept", answering).annotateMerge(
      OpenApi.annotations({
        summary: "Accept an organisation's invitation",
        description:
          "Requires a login with a mailed code. Until then the invitation gives no rights and changes nothing. A person who belongs to no organisation accepts their only invitation by logging in. Audited.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("declineInvitation", "/v1/invitations/:org/decline", answering).annotateMerge(
      OpenApi.annotations({
        summary: "Decline an organisation's invitation",
        description: "Requires a login with a mailed code. Audited.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("jwks", "/.well-known/jwks.json", {
      success: JwkSet,
      error: errorsOf(everywhere),
    }).annotateMerge(OpenApi.annotations({ summary: "Get the public keys of access tokens (Ed25519, RFC 7517)" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Login", description: "Login by mailed code, refresh and logout" })) {}
