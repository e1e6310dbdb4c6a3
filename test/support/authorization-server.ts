/** An authorisation server of tests: it consents at once, rotates refresh tokens, and can be made dishonest. */
import { createHash, randomUUID } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

export interface Dishonest {
  /** Members of its metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Members of its answers with tokens. */
  readonly tokens?: Readonly<Record<string, unknown>>
  /** Members of the query of its callback; undefined removes one. */
  readonly callback?: Readonly<Record<string, string | undefined>>
  /** Answers instead of it, at these paths. */
  readonly at?: Readonly<Record<string, (response: ServerResponse) => void>>
}

export const startAuthorizationServer = async (issuerPath = "") => {
  const codes = new Map<
    string,
    { challenge: string; resource: string; scope: string; redirectUri: string; client: string }
  >()
  const refreshTokens = new Set<string>()
  const used = new Set<string>()
  const seen = {
    registrations: [] as Array<Record<string, unknown>>,
    grants: [] as Array<URLSearchParams>,
    authorizations: [] as Array<string | undefined>,
    revoked: [] as Array<string>,
    consents: [] as Array<URLSearchParams>,
    reused: 0,
  }
  const state = { accessToken: "", lifeS: 3600, refreshStatus: 200, delayMs: 0, dishonest: {} as Dishonest }
  let origin = ""
  const json = (response: ServerResponse, value: unknown, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))

  const metadata = () => ({
    issuer: `${origin}${issuerPath}`,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    code_challenge_methods_supported: ["S256"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "none"],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ["read", "offline_access"],
    ...state.dishonest.metadata,
  })

  const give = (response: ServerResponse, isRefreshed: boolean) => {
    state.accessToken = `at_${randomUUID()}`
    const refresh_token = `rt_${randomUUID()}`
    if (isRefreshed) refreshTokens.add(refresh_token)
    return json(response, {
      access_token: state.accessToken,
      token_type: "Bearer",
      expires_in: state.lifeS,
      ...(isRefreshed && { refresh_token }),
      ...state.dishonest.tokens,
    })
  }

  const answer = (
    path: string,
    url: URL,
    body: string,
    authorization: string | undefined,
    response: ServerResponse,
  ) => {
    const special = state.dishonest.at?.[path]
    if (special !== undefined) return special(response)
    if (path.startsWith("/.well-known/oauth-authorization-server")) return json(response, metadata())
    if (path === "/register") {
      seen.registrations.push(JSON.parse(body))
      return json(
        response,
        { client_id: `client_${seen.registrations.length}`, token_endpoint_auth_method: "none" },
        201,
      )
    }
    if (path === "/revoke") {
      seen.revoked.push(new URLSearchParams(body).get("token") ?? "")
      return response.writeHead(200).end()
    }
    if (path === "/authorize") {
      const query = url.searchParams
      seen.consents.push(query)
      const code = randomUUID()
      const of = (name: string) => query.get(name) ?? ""
      codes.set(code, {
        challenge: of("code_challenge"),
        resource: of("resource"),
        scope: of("scope"),
        redirectUri: of("redirect_uri"),
        client: of("client_id"),
      })
      const back = new URL(of("redirect_uri"))
      const given = { code, state: of("state"), iss: `${origin}${issuerPath}`, ...state.dishonest.callback }
      for (const [name, value] of Object.entries(given)) if (value !== undefined) back.searchParams.set(name, value)
      return response.writeHead(302, { location: back.href }).end()
    }
    if (path !== "/token") return response.writeHead(404).end()
    const form = new URLSearchParams(body)
    seen.grants.push(form)
    seen.authorizations.push(authorization)
    switch (form.get("grant_type")) {
      case "client_credentials":
        return authorization === `Basic ${Buffer.from("declared:vendor-credential").toString("base64")}`
          ? give(response, false)
          : json(response, { error: "invalid_client" }, 401)
      case "refresh_token": {
        const token = form.get("refresh_token") ?? ""
        if (used.has(token)) seen.reused++
        if (state.refreshStatus !== 200 || !refreshTokens.has(token)) {
          return json(
            response,
            { error: state.refreshStatus >= 500 ? "server_error" : "invalid_grant" },
            state.refreshStatus === 200 ? 400 : state.refreshStatus,
          )
        }
        refreshTokens.delete(token)
        used.add(token)
        setTimeout(() => give(response, true), state.delayMs)
        return
      }
      default: {
        const known = codes.get(form.get("code") ?? "")
        codes.delete(form.get("code") ?? "")
        const challenge = createHash("sha256")
          .update(form.get("code_verifier") ?? "")
          .digest("base64url")
        const fits =
          known?.challenge === challenge &&
          known.resource === form.get("resource") &&
          known.redirectUri === form.get("redirect_uri")
        return fits ? give(response, true) : json(response, { error: "invalid_grant" }, 400)
      }
    }
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", origin)
    answer(url.pathname, url, await text(request), request.headers.authorization, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    issuer: `${origin}${issuerPath}`,
    seen,
    state,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
