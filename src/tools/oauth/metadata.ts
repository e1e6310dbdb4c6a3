/** The documents in which servers of tools and authorisation servers describe themselves, as far as they are used. */
import { Schema } from "effect"

const Text = Schema.String.check(Schema.isMaxLength(2048))
const Texts = Schema.Array(Text).check(Schema.isMaxLength(1000))

/** RFC 9728 section 2. */
export const ResourceMetadata = Schema.Struct({
  resource: Text,
  authorization_servers: Schema.optionalKey(Texts),
  scopes_supported: Schema.optionalKey(Texts),
})
export type ResourceMetadata = typeof ResourceMetadata.Type

/** RFC 8414 section 2, RFC 9207 section 3, and the draft of client ID metadata documents. */
export const IssuerMetadata = Schema.Struct({
  issuer: Text,
  authorization_endpoint: Schema.optionalKey(Text),
  token_endpoint: Text,
  registration_endpoint: Schema.optionalKey(Text),
  revocation_endpoint: Schema.optionalKey(Text),
  scopes_supported: Schema.optionalKey(Texts),
  grant_types_supported: Schema.optionalKey(Texts),
  code_challenge_methods_supported: Schema.optionalKey(Texts),
  token_endpoint_auth_methods_supported: Schema.optionalKey(Texts),
  id_token_signing_alg_values_supported: Schema.optionalKey(Texts),
  authorization_response_iss_parameter_supported: Schema.optionalKey(Schema.Boolean),
  client_id_metadata_document_supported: Schema.optionalKey(Schema.Boolean),
})
export type IssuerMetadata = typeof IssuerMetadata.Type

/** The answer to a registration. RFC 7591 section 3.2.1. */
export const Registered = Schema.Struct({
  client_id: Text.check(Schema.isMinLength(1)),
  client_secret: Schema.optionalKey(Text),
  client_secret_expires_at: Schema.optionalKey(Schema.Number),
  token_endpoint_auth_method: Schema.optionalKey(Text),
})

/** The client that the gateway is at an authorisation server. */
export const OAuthClient = Schema.Struct({
  id: Schema.String,
  secret: Schema.optionalKey(Schema.String),
  /** The way in which it proves that it is the client; chosen from the server's ways if absent. */
  method: Schema.optionalKey(Schema.String),
})
export type OAuthClient = typeof OAuthClient.Type

type Method = "client_secret_basic" | "client_secret_post" | "none"

/** The way in which a client authenticates. RFC 6749 section 2.3.1. */
export const methodOf = (
  client: OAuthClient,
  { token_endpoint_auth_methods_supported: ways }: IssuerMetadata,
): Method => {
  if (client.secret === undefined) return "none"
  if (client.method === "client_secret_post" || client.method === "client_secret_basic") return client.method
  if (client.method === "none") return "none"
  return ways === undefined || ways.includes("client_secret_basic") || !ways.includes("client_secret_post")
    ? "client_secret_basic"
    : "client_secret_post"
}

/** The way that a new client asks for: with a secret, if the server has one. */
export const askedMethod = ({ token_endpoint_auth_methods_supported: ways }: IssuerMetadata): Method =>
  ways === undefined
    ? "client_secret_basic"
    : ((["client_secret_basic", "client_secret_post"] as const).find((way) => ways.includes(way)) ?? "none")

/** Scopes of both lists. */
export const union = (...lists: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => [
  ...new Set(lists.flat()),
]
