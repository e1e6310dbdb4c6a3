/**
 * The client that the gateway is at an authorisation server: one that an operator has registered, the gateway's own document, or one
 * that the server registers.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
 */
import { Effect, Redacted } from "effect"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { askedMethod, type IssuerMetadata, type OAuthClient, Registered } from "../../tools/oauth/metadata.ts"
import type { AccountStore } from "./account-store.ts"
import { documentOf, OAuthFailed, type Reach } from "./reach.ts"

/** The gateway's addresses, as authorisation servers see them. */
export interface ClientPlace {
  readonly redirectUri: string
  /** The address of the document that describes the gateway as a client; undefined if it has no public one. */
  readonly document: string | undefined
}

/** The metadata that the gateway has as a client, in its document and in registrations. RFC 7591 section 2. */
export const clientMetadata = (redirectUri: string) => ({
  client_name: "Weir",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
})

/** The client that an operator has registered; undefined if there is none. */
export const declaredClient = ({ server: { oauth }, clientSecret }: ToolServerEntry): OAuthClient | undefined =>
  oauth?.clientId === undefined
    ? undefined
    : { id: oauth.clientId, ...(clientSecret !== undefined && { secret: Redacted.value(clientSecret) }) }

export const clientAt = Effect.fnUntraced(function* (
  store: AccountStore["Service"],
  reach: Reach,
  entry: ToolServerEntry,
  issuer: IssuerMetadata,
  { redirectUri, document }: ClientPlace,
): Effect.fn.Return<OAuthClient, OAuthFailed | StoreUnavailable> {
  const declared = declaredClient(entry)
  if (declared !== undefined) return declared
  if (issuer.client_id_metadata_document_supported === true && document !== undefined) return { id: document }
  const known = yield* store.client(issuer.issuer, redirectUri)
  if (known !== undefined) return known
  const { registration_endpoint: endpoint } = issuer
  if (endpoint === undefined) {
    return yield* new OAuthFailed({
      message: "the authorisation server registers no clients: write issuer and clientId into the catalogue",
      isPassing: false,
    })
  }
  const method = askedMethod(issuer)
  const reply = yield* reach.postJson(endpoint, {
    ...clientMetadata(redirectUri),
    token_endpoint_auth_method: method,
    application_type: isLocal(redirectUri) ? "native" : "web",
  })
  const registered = reply.status === 201 || reply.status === 200 ? documentOf(Registered, reply) : undefined
  if (registered === undefined) {
    return yield* new OAuthFailed({
      message: `the authorisation server does not register the gateway as a client (status ${reply.status})`,
      isPassing: reply.status >= 500 || reply.status === 429,
    })
  }
  const { client_id: id, client_secret: secret, token_endpoint_auth_method, client_secret_expires_at } = registered
  const client = { id, ...(secret !== undefined && { secret }), method: token_endpoint_auth_method ?? method }
  const expiresAtS =
    client_secret_expires_at === undefined || client_secret_expires_at <= 0 ? undefined : client_secret_expires_at
  yield* store.keepClient(issuer.issuer, redirectUri, client, expiresAtS)
  return client
})

const isLocal = (address: string): boolean =>
  ["localhost", "127.0.0.1", "[::1]"].includes(URL.parse(address)?.hostname ?? "")
