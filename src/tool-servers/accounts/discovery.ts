/**
 * Finds the authorisation server of a server of tools: by the metadata of the resource, or, for servers of the first version, at the
 * server's own origin.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
import { Effect } from "effect"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import {
  isIssuer,
  isResourceOf,
  isSameIssuer,
  issuerMetadataUrls,
  resourceMetadataUrls,
  resourceOf,
  usualEndpoints,
} from "../../tools/oauth/addresses.ts"
import type { Challenge } from "../../tools/oauth/challenge.ts"
import { IssuerMetadata, ResourceMetadata } from "../../tools/oauth/metadata.ts"
import { documentOf, OAuthFailed, type Reach } from "./reach.ts"

/** The resource that tokens are for, and the authorisation server that gives them. */
export interface Discovered {
  readonly resource: string
  /** The scopes that the resource names; undefined if it names none. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly issuer: IssuerMetadata
}

const refuse = (message: string) => new OAuthFailed({ message, isPassing: false })

/** Whether a server has no such document, rather than being out of order. */
const isAbsent = (status: number): boolean => status >= 300 && status < 500 && status !== 429

/** The metadata of a server as a resource; undefined if it has none. */
export const discoverResource = Effect.fnUntraced(function* (
  reach: Reach,
  url: string,
  { resourceMetadata }: Pick<Challenge, "resourceMetadata">,
): Effect.fn.Return<ResourceMetadata | undefined, OAuthFailed> {
  for (const address of resourceMetadata === undefined ? resourceMetadataUrls(url) : [resourceMetadata]) {
    const reply = yield* reach.get(address)
    if (reply.status !== 200) {
      if (isAbsent(reply.status)) continue
      return yield* new OAuthFailed({ message: "the server does not give its metadata", isPassing: true })
    }
    const found = documentOf(ResourceMetadata, reply)
    // A page that a server shows at any address is no document.
    if (found === undefined) continue
    if (!isResourceOf(found.resource, url)) return yield* refuse("the server's metadata is about another resource")
    return found
  }
  return undefined
})

/** The issuers of a resource. The operator's own is the only one, if there is one. */
export const issuerOf = (
  { server: { oauth } }: ToolServerEntry,
  { authorization_servers: named = [] }: ResourceMetadata,
): string | undefined => {
  const declared = oauth?.issuer
  return declared === undefined ? named[0] : named.find((each) => isSameIssuer(each, declared))
}

export const discover = Effect.fnUntraced(function* (
  reach: Reach,
  entry: ToolServerEntry,
  challenge: Pick<Challenge, "resourceMetadata">,
): Effect.fn.Return<Discovered, OAuthFailed> {
  const { url = "", oauth } = entry.server
  const found = yield* discoverResource(reach, url, challenge)
  if (found === undefined) return yield* withoutMetadata(reach, url, oauth?.issuer)
  const issuer = issuerOf(entry, found)
  if (issuer === undefined) {
    return yield* refuse(
      oauth?.issuer === undefined
        ? "the server names no authorisation server"
        : "the server names another authorisation server than the catalogue",
    )
  }
  const metadata = yield* discoverIssuer(reach, issuer)
  if (metadata === undefined) return yield* refuse("the authorisation server does not describe itself")
  return { resource: found.resource, scopes: found.scopes_supported, issuer: metadata }
})

/** The metadata of an authorisation server; undefined if it has none. It must name the issuer that was asked for. */
export const discoverIssuer = Effect.fnUntraced(function* (
  reach: Reach,
  issuer: string,
): Effect.fn.Return<IssuerMetadata | undefined, OAuthFailed> {
  if (!isIssuer(issuer)) return yield* refuse("the identifier of the authorisation server is invalid")
  for (const address of issuerMetadataUrls(issuer)) {
    const reply = yield* reach.get(address)
    if (reply.status !== 200) {
      if (isAbsent(reply.status)) continue
      return yield* new OAuthFailed({ message: "the authorisation server is out of order", isPassing: true })
    }
    const found = documentOf(IssuerMetadata, reply)
    if (found === undefined) continue
    if (!isSameIssuer(found.issuer, issuer))
      return yield* refuse("the authorisation server's metadata has another issuer")
    if (found.code_challenge_methods_supported?.includes("S256") !== true && !isWithoutCodes(found))
      return yield* refuse("the authorisation server does not support PKCE")
    return found
  }
  return undefined
})

/** A server that only knows the gateway itself sends no browser anywhere. */
const isWithoutCodes = ({ grant_types_supported: grants, authorization_endpoint }: IssuerMetadata): boolean =>
  authorization_endpoint === undefined || (grants !== undefined && !grants.includes("authorization_code"))

/** Before there was metadata of resources, a server's own origin was its authorisation server. */
const withoutMetadata = Effect.fnUntraced(function* (
  reach: Reach,
  url: string,
  declared: string | undefined,
): Effect.fn.Return<Discovered, OAuthFailed> {
  const resource = resourceOf(url)
  const issuer = declared ?? new URL(url).origin
  const metadata = yield* discoverIssuer(reach, issuer)
  if (metadata === undefined && declared !== undefined)
    return yield* refuse("the authorisation server does not describe itself")
  return { resource, scopes: undefined, issuer: metadata ?? usualEndpoints(url) }
})
