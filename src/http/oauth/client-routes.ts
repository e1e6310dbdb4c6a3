/** The routes that clients call themselves: `/oauth/token`, `/oauth/revoke`, `/oauth/register` and the metadata. */
import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { WeirConfig } from "../../config.ts"
import { authMethods, type OauthClient, shownName } from "../../identity/oauth/client.ts"
import {
  type AskedPlace,
  ClientGrants,
  type ClientTokens,
  clientAccessTtlS,
  otherPlace,
} from "../../identity/oauth/client-grants.ts"
import { OauthClients, provesItself } from "../../identity/oauth/oauth-clients.ts"
import { maxRedirectUri, maxRedirectUris, placeOf } from "../../identity/oauth/redirect-uris.ts"
import { makeAnonymousRoutes, maxLoginBytes } from "../anonymous.ts"
import { originOf, type Request, readContent } from "../request.ts"
import { respondJson, routeNotFound } from "../respond.ts"
import { OauthError, oauthError, type Parameters, readParameters, respondClient } from "./oauth-reply.ts"
import { resourceMetadata, serverMetadata, serverOfResource, toolScope } from "./resources.ts"

export const oauthClientRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { admitAddress, admitClient } = yield* makeAnonymousRoutes
    const clients = yield* OauthClients
    const grants = yield* ClientGrants
    const config = yield* WeirConfig

    /** The client that sent a form, after it has proved itself. */
    const clientOf = Effect.fnUntraced(function* (request: Request, form: Parameters) {
      const header = request.headers["authorization"]
      const isBasic = header !== undefined
      const refused = new OauthError({ error: "invalid_client", description: "The client is not known", isBasic })
      const basic = header === undefined ? undefined : readBasic(header)
      if (isBasic && basic === undefined) return yield* refused
      const [bodyId, bodySecret] = [form.get("client_id"), form.get("client_secret")]
      if (basic !== undefined && (bodySecret !== undefined || (bodyId !== undefined && bodyId !== basic.id)))
        return yield* oauthError("invalid_request", "A client authenticates in one way")
      const id = basic?.id ?? bodyId
      if (id === undefined) return yield* refused
      const client = yield* Effect.catchTag(clients.find(id), "ServiceError", () => Effect.undefined)
      if (client === undefined || !provesItself(client, basic?.secret ?? bodySecret)) return yield* refused
      return client
    })

    const redeem = Effect.fnUntraced(function* (client: OauthClient, form: Parameters, place: AskedPlace | undefined) {
      const [code, verifier] = [form.get("code"), form.get("code_verifier")]
      if (code === undefined) return yield* oauthError("invalid_request", "code is required")
      if (verifier === undefined || !verifierPattern.test(verifier))
        return yield* oauthError("invalid_request", "code_verifier is required: 43 to 128 characters of RFC 7636")
      const redirectUri = form.get("redirect_uri")
      return yield* grants.redeem({ code, clientId: client.id, redirectUri, verifier, place })
    })

    const token = Effect.fnUntraced(function* (request: Request) {
      yield* admitClient(request)
      const form = yield* readParameters(request)
      const client = yield* clientOf(request, form)
      const resource = form.get("resource")
      const asked = resource === undefined ? undefined : serverOfResource(originOf(config, request), resource)
      if (asked === "unknown") return yield* oauthError("invalid_target", "The resource is not one of this server")
      const grant = form.get("grant_type")
      if (grant === "authorization_code") return yield* given(yield* redeem(client, form, asked))
      if (grant !== "refresh_token")
        return yield* oauthError("unsupported_grant_type", "grant_type is authorization_code or refresh_token")
      const refreshToken = form.get("refresh_token")
      if (refreshToken === undefined) return yield* oauthError("invalid_request", "refresh_token is required")
      return yield* given(yield* grants.refresh(refreshToken, client.id, asked))
    })

    const revoke = Effect.fnUntraced(function* (request: Request) {
      yield* admitClient(request)
      const form = yield* readParameters(request)
      const client = yield* clientOf(request, form)
      const secret = form.get("token")
      if (secret === undefined) return yield* oauthError("invalid_request", "token is required")
      if (yield* grants.revoke(secret, client.id))
        return yield* oauthError("invalid_grant", "The token was issued to another client")
    })

    const register = Effect.fnUntraced(function* (request: Request) {
      yield* admitAddress(request)
      const body = yield* readContent(request, maxLoginBytes)
      const asked = yield* Effect.mapError(decodeRegistration(Buffer.from(body).toString("utf8")), () =>
        oauthError("invalid_client_metadata", "The metadata of the client are not valid"),
      )
      const { redirect_uris, token_endpoint_auth_method: authMethod = "client_secret_basic" } = asked
      if (!redirect_uris.every((uri) => placeOf(uri) !== undefined))
        return yield* oauthError(
          "invalid_redirect_uri",
          "redirect_uris must be HTTPS, this computer (http://localhost, 127.0.0.1 or [::1]) or an application's own scheme",
        )
      const redirectUris = [...new Set(redirect_uris)]
      const name = shownName(asked.client_name, redirect_uris[0])
      const { id, secret } = yield* clients.register({ name, redirectUris, authMethod })
      return {
        client_id: id,
        client_id_issued_at: Math.floor(Date.now() / 1000),
        ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: authMethod,
        scope: toolScope,
      }
    })

    const metadata = (request: Request) =>
      HttpServerResponse.jsonUnsafe(serverMetadata(originOf(config, request)), cached)

    const resource = (request: Request) => {
      const [, path = ""] = /^\/\.well-known\/oauth-protected-resource([^?]*)/.exec(request.url) ?? []
      const found = resourceMetadata(originOf(config, request), path)
      return found === undefined
        ? respondJson(Effect.fail(routeNotFound))
        : Effect.succeed(HttpServerResponse.jsonUnsafe(found, cached))
    }

    yield* router.add("POST", "/oauth/token", (request) => respondClient(token(request)))
    yield* router.add("POST", "/oauth/revoke", (request) => respondClient(revoke(request)))
    yield* router.add("POST", "/oauth/register", (request) => respondClient(register(request), 201))
    for (const name of ["oauth-authorization-server", "openid-configuration"] as const)
      yield* router.add("GET", `/.well-known/${name}`, (request) => Effect.succeed(metadata(request)))
    for (const path of ["", "/mcp", "/mcp/:server"] as const)
      yield* router.add("GET", `/.well-known/oauth-protected-resource${path}`, resource)
  }),
)

const cached = { headers: { "cache-control": "max-age=300" } }

const verifierPattern = /^[A-Za-z0-9._~-]{43,128}$/

const given = (tokens: ClientTokens | typeof otherPlace | undefined) => {
  if (tokens === otherPlace)
    return Effect.fail(oauthError("invalid_target", "The resource is another one than that of the authorization"))
  return tokens === undefined
    ? Effect.fail(oauthError("invalid_grant", "The code or refresh token is not valid, has expired or was used before"))
    : Effect.succeed({
        access_token: tokens.accessToken,
        token_type: "Bearer",
        expires_in: clientAccessTtlS,
        refresh_token: tokens.refreshToken,
        scope: toolScope,
      })
}

/** The credentials of a client in a header, each encoded like a field of a form. OAuth 2.1 section 2.4.1. */
const readBasic = (header: string): { readonly id: string; readonly secret: string } | undefined => {
  const encoded = /^Basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(header)?.[1]
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? "", "base64").toString("utf8")) ?? []
  const [plainId, plainSecret] = [decoded(id), decoded(secret)]
  return plainId === undefined || plainSecret === undefined ? undefined : { id: plainId, secret: plainSecret }
}

const decoded = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : (new URLSearchParams(`v=${text.replaceAll("&", "%26")}`).get("v") ?? undefined)

const Registration = Schema.Struct({
  redirect_uris: Schema.NonEmptyArray(Schema.String.check(Schema.isMaxLength(maxRedirectUri))).check(
    Schema.isMaxLength(maxRedirectUris),
  ),
  client_name: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))),
  token_endpoint_auth_method: Schema.optionalKey(Schema.Literals(authMethods)),
  response_types: Schema.optionalKey(Schema.Array(Schema.Literal("code"))),
  grant_types: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(10))),
})
const decodeRegistration = Schema.decodeUnknownEffect(Schema.fromJsonString(Registration))
