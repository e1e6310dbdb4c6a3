/**
 * The endpoint of tools as a resource of our authorization server, and how clients find both. Sources: RFC 9728 (protected
 * resource metadata), RFC 8414 (metadata of the server), RFC 8707 (the `resource` parameter), RFC 6750 section 3.
 */
import { authMethods } from "../../identity/oauth/client.ts"

/** The only scope of the endpoint. */
export const toolScope = "tools"

const wellKnown = "/.well-known/oauth-protected-resource"
const serverPattern = /^[a-z][a-z0-9-]{0,30}$/

/** The path of the endpoint for all servers, or for one. */
const pathOf = (server: string | undefined): string => (server === undefined ? "/mcp" : `/mcp/${server}`)

/** The identifier of the endpoint. */
export const resourceOf = (origin: string, server: string | undefined): string => `${origin}${pathOf(server)}`

/**
 * The challenge of a request that has no valid credential.
 * @param headers the request's: a client that sent a credential learns that it is not valid
 */
export const challengeOf = (
  origin: string,
  server: string | undefined,
  headers: Readonly<Record<string, string | undefined>>,
): string => {
  const known = server !== undefined && serverPattern.test(server) ? server : undefined
  const error = headers["authorization"] === undefined ? "" : 'error="invalid_token", '
  return `Bearer ${error}resource_metadata="${quotable(origin)}${wellKnown}${pathOf(known)}", scope="${toolScope}"`
}

/** The host comes from the request if no address is configured. */
const quotable = (origin: string): string => origin.replace(/[^\w.~:/?[\]@!$&'()*+,;=%-]/g, "")

/**
 * The server that a resource names; undefined for all.
 * @returns `"unknown"` for a resource that is not ours
 */
export const serverOfResource = (origin: string, resource: string): { readonly server?: string } | "unknown" => {
  const own = URL.parse(origin)
  const url = resource.length > 2048 ? null : URL.parse(resource)
  if (own === null || url === null || url.origin !== own.origin || /[?#@\\]/.test(resource)) return "unknown"
  const prefix = own.pathname.replace(/\/$/, "")
  if (!url.pathname.startsWith(`${prefix}/`) && url.pathname !== prefix) return "unknown"
  const path = url.pathname.slice(prefix.length).replace(/\/$/, "")
  if (path === "" || path === "/mcp") return {}
  const server = path.startsWith("/mcp/") ? path.slice("/mcp/".length) : ""
  return serverPattern.test(server) ? { server } : "unknown"
}

/** The metadata of the endpoint, which say where its tokens come from. @param path the part after the well-known path */
export const resourceMetadata = (origin: string, path: string) => {
  const known = serverOfResource(origin, `${origin}${path}`)
  if (known === "unknown" || path.endsWith("/")) return undefined
  return {
    resource: path === "" ? origin : resourceOf(origin, known.server),
    authorization_servers: [origin],
    scopes_supported: [toolScope],
    bearer_methods_supported: ["header"],
    resource_name: "Weir",
    resource_documentation: `${origin}/docs`,
  }
}

/** The metadata of the authorization server. @param issuer the gateway's public address */
export const serverMetadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  registration_endpoint: `${issuer}/oauth/register`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  scopes_supported: [toolScope, "offline_access"],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: authMethods,
  revocation_endpoint_auth_methods_supported: authMethods,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
})
