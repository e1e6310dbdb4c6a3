/** Routes of access tokens. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AccessTokenList, AccessTokenMinted, AccessTokenRequest } from "../access-token.ts"
import { PathId } from "../text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { bearerHeaders } from "./headers.ts"

export class Tokens extends HttpApiGroup.make("tokens")
  .add(
    HttpApiEndpoint.post("mintToken", "/v1/tokens", {
      headers: bearerHeaders,
      payload: AccessTokenRequest,
      success: AccessTokenMinted,
      error: errorsOf([...everywhere, ...bearerErrors, "limit_exceeded"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make a token; its secret is told once",
        description:
          "For people who have logged in: a token makes no tokens. An organisation's own: owners and admins.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.get("listTokens", "/v1/tokens", {
      headers: bearerHeaders,
      success: AccessTokenList,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(
      OpenApi.annotations({ summary: "The tokens that are yours to revoke and still stand, newest first" }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("revokeToken", "/v1/tokens/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: errorsOf([...everywhere, ...bearerErrors]),
    }).annotateMerge(OpenApi.annotations({ summary: "Revoke a token; it stops working within two seconds" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Access tokens" })) {}
