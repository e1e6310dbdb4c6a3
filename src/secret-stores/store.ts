/** The common part of all stores of secrets: one request, its limits, and the messages of its errors. */
import { Data, Effect, Schema } from "effect"
import { type Identity, IdentityFailed } from "../cloud-identities/identity.ts"
import { isDeeperThan } from "../protocol/json/depth.ts"
import { fetchWhole, type UpstreamRequest, type VendorClient } from "../upstream/client.ts"

/** A secret could not be read. The sentence is for operators, and contains nothing that the store sent. */
export class SecretUnread extends Data.TaggedError("SecretUnread")<{
  readonly sentence: string
  /** Whether the same request may succeed in a moment. */
  readonly mayPass: boolean
}> {}

export const unread = (sentence: string, mayPass = false) => new SecretUnread({ sentence, mayPass })

export type Client = VendorClient["Service"]

/** Reads the text of a secret by its name, in the form of its reference. */
export type ReadSecret = (name: string) => Effect.Effect<string, SecretUnread>

/** Vault's largest secret is 1 MiB, the others' 64 KiB; replies have them in base64 or escaped. */
const maxReplyBytes = 2 * 1024 * 1024

/** The time that one request may take. */
const replyMs = 5000

export interface StoreRequest extends Pick<UpstreamRequest, "method" | "baseUrl" | "path" | "network"> {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface StoreReply {
  readonly status: number
  readonly body: string
}

/** @param store its name in sentences */
export const ask = (
  client: Client,
  store: string,
  { headers = {}, body = "", ...request }: StoreRequest,
): Effect.Effect<StoreReply, SecretUnread> =>
  fetchWhole(client, { ...request, headers, body }, maxReplyBytes).pipe(
    Effect.timeout(replyMs),
    Effect.catchTags({
      UpstreamBroken: () => Effect.fail(unread(`${store} cannot be reached`, true)),
      TimeoutError: () => Effect.fail(unread(`${store} took longer than ${replyMs / 1000} s`, true)),
    }),
  )

/** The same with the headers of an identity, which may be signatures of the request. */
export const askAs = (
  identity: Identity,
  client: Client,
  store: string,
  request: StoreRequest & { readonly method: "GET" | "POST" },
): Effect.Effect<StoreReply, SecretUnread> =>
  Effect.tryPromise({
    try: () => identity.authorize({ body: "", ...request }, { client, network: request.network, isGuarded: false }),
    catch: (cause) => unread(cause instanceof IdentityFailed ? cause.sentence : "there is no identity now"),
  }).pipe(
    Effect.flatMap((authorization) =>
      ask(client, store, { ...request, headers: { ...request.headers, ...authorization } }),
    ),
  )

/** The reason why a status other than 200 has no secret. */
export const refusedWith = (store: string, status: number): SecretUnread => {
  if (status === 401 || status === 403) {
    return unread(`${store} answers ${status}: it does not know this gateway, or does not let it read this secret`)
  }
  if (status === 404) return unread(`${store} has no such secret`)
  return unread(`${store} answers ${status}`, status === 429 || status >= 500)
}

/** Reads a reply by its schema. */
export const reader = <A, I>(store: string, schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (body: string): Effect.Effect<A, SecretUnread> =>
    Effect.mapError(decode(parseShallow(body)), () => unread(`${store} answers with something that is no secret`))
}

/** JSON that is not nested too deeply for recursion; undefined if it is, or is no JSON. */
export const parseShallow = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(value, deepest) ? undefined : value
  } catch {
    return undefined
  }
}

const deepest = 32

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** The text of a secret that is sent in base64. */
export const textOfBase64 = (base64: string): Effect.Effect<string, SecretUnread> =>
  Effect.try({
    try: () => utf8.decode(Buffer.from(base64, "base64")),
    catch: () => unread("the secret is binary: it must be text"),
  })
