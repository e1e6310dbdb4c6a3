/** Routes of access tokens. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AccessTokenList, AccessTokenMinted, AccessTokenRequest } from "../control/access-token.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./parameters.ts"

export class Tokens extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.post("mintToken", "/v1/tokens", {
      headers: bearerHeaders,
      payload: AccessTokenRequest,
      success: AccessTokenMinted,
      error: errorsOf([...everywhere, ...bearerErrors, "limit_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a token. The secret is returned once.",
        description:
          "Requires a login: a token cannot create tokens. Tokens of the organisation require owner or admin.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listTokens", "/v1/tokens", {
      headers: bearerHeaders,
      success: AccessTokenList,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "List your active tokens, newest first" })),
  )
  .add(
    HttpApiEndpoint.delete("revokeToken", "/v1/tokens/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a token. It is rejected within two seconds." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Access tokens",
      description: "Personal access tokens and organisations' access tokens",
    }),
  ) {}
