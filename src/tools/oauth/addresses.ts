/**
 * The addresses at which a server of tools, and its authorisation server, describe themselves. Pure.
 * Sources: RFC 9728 section 3, RFC 8414 section 3,
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */

/** A server's address without its last slash where that means nothing. RFC 8707 section 2. */
export const resourceOf = (server: string): string => {
  const url = new URL(server)
  url.hash = ""
  return url.pathname === "/" && url.search === "" ? url.origin : url.href
}

/** Addresses of the metadata of a resource, in their order, if its challenge names none. */
export const resourceMetadataUrls = (server: string): ReadonlyArray<string> => {
  const { origin, pathname } = new URL(server)
  const root = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname.replace(/\/$/, "")
  return path === "" ? [root] : [`${root}${path}`, root]
}

/** Whether metadata that names a resource is about a server: it is the server, or a place above it. RFC 9728 section 3.3. */
export const isResourceOf = (resource: string, server: string): boolean => {
  const [named, own] = [URL.parse(resource), URL.parse(server)]
  if (named === null || own === null || named.hash !== "" || named.origin !== own.origin) return false
  if (named.search !== "" && named.search !== own.search) return false
  const withSlash = (path: string) => (path.endsWith("/") ? path : `${path}/`)
  return withSlash(own.pathname).startsWith(withSlash(named.pathname))
}

/** Addresses of the metadata of an authorisation server, in their order. */
export const issuerMetadataUrls = (issuer: string): ReadonlyArray<string> => {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, "")
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  )
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

/**
 * Whether a text can be the identifier of an authorisation server: an address without query and fragment.
 * RFC 8414 section 2.
 */
export const isIssuer = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || text.length > 2048 || !/^https?:$/.test(url.protocol)) return false
  return url.search === "" && url.hash === "" && !/[?#]/.test(text) && url.username === "" && url.password === ""
}

/**
 * Whether two texts name one authorisation server: they are equal, or differ in the slash after a host only. Google's servers of
 * tools name theirs with it, and its metadata is without; both are found at the same address.
 */
export const isSameIssuer = (one: string, other: string): boolean =>
  one === other || (isHost(one) && isHost(other) && one.replace(/\/$/, "") === other.replace(/\/$/, ""))

const isHost = (issuer: string): boolean => /^https?:\/\/[^/?#]+\/?$/.test(issuer)

/**
 * The endpoints of a server that describes itself nowhere.
 * Source: https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 */
export const usualEndpoints = (server: string) => {
  const { origin } = new URL(server)
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  }
}
