/** Routes of logging in by mailed code, refreshing and logging out. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { JwkSet, Me, OtpAccepted, OtpRequest, OtpVerify, RefreshRequest, TokenReply } from "../login.ts"
import { errorsOf, everywhere, strictErrors } from "./errors.ts"
import { header } from "./headers.ts"

export class Login extends HttpApiGroup.make("login")
  .add(
    HttpApiEndpoint.post("otpRequest", "/v1/auth/otp/request", {
      payload: OtpRequest,
      success: OtpAccepted.pipe(HttpApiSchema.status(202)),
      error: errorsOf([...strictErrors, "auth_channel_undelivered"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Have a one-time code sent to an address",
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
        summary: "Log in with a code; the first time, this registers",
        description: "A code is good for ten minutes, once, and for five attempts.",
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
        summary: "The next pair of tokens",
        description:
          "Each refresh token is good once. One that comes again ends its login, because one of the two was stolen.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("logout", "/v1/auth/logout", {
      payload: RefreshRequest,
      success: HttpApiSchema.NoContent,
      error: errorsOf(strictErrors),
    }).annotateMerge(OpenApi.annotations({ summary: "End a login; ending it again is no error" })),
  )
  .add(
    HttpApiEndpoint.get("me", "/v1/me", {
      headers: { authorization: header("`Bearer` and an access token, or a token with the scope `control`; required") },
      success: Me,
      error: errorsOf([...everywhere, "unauthorized", "token_expired", "forbidden"]),
    }).annotateMerge(OpenApi.annotations({ summary: "Who the token speaks for, and where it may act" })),
  )
  .add(
    HttpApiEndpoint.get("jwks", "/.well-known/jwks.json", { success: JwkSet }).annotateMerge(
      OpenApi.annotations({ summary: "The public keys of access tokens (Ed25519, RFC 7517)" }),
    ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Logging in" })) {}
