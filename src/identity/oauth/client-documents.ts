/**
 * Documents of clients: the id of such a client is the HTTPS address of its description. The address passes the egress guard,
 * redirects are not followed, and a document is kept for the time that its headers allow. Source: OAuth Client ID Metadata
 * Document (draft 00).
 */
import { Clock, Effect, Option, Schema } from "effect"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { fetchWhole, VendorClient } from "../../upstream/client.ts"
import { Egress } from "../../upstream/egress.ts"
import { type OauthClient, shownName } from "./client.ts"
import { maxRedirectUris, placeOf } from "./redirect-uris.ts"

const maxDocumentBytes = 16 * 1024
const timeoutMs = 5000
const maxKept = 1000
const leastKeptS = 60
const usualKeptS = 300
const mostKeptS = 24 * 3600

const Document = Schema.Struct({
  client_id: Schema.String,
  client_name: Schema.optionalKey(Schema.String),
  redirect_uris: Schema.NonEmptyArray(Schema.String).check(Schema.isMaxLength(maxRedirectUris)),
  token_endpoint_auth_method: Schema.optionalKey(Schema.String),
  client_secret: Schema.optionalKey(Schema.Never),
})
const readDocument = Schema.decodeUnknownOption(Schema.fromJsonString(Document))

/** Whether the id of a client is the address of a document, in the one spelling that such ids have. */
export const isDocumentId = (id: string): boolean => {
  if (!id.startsWith("https://") || id.length > 512) return false
  const url = URL.parse(id)
  return url !== null && url.href === id && url.pathname !== "/" && !/[?#@%\\]/.test(id)
}

type DocumentError = ServiceError<"bad_request">

export const makeClientDocuments = Effect.gen(function* () {
  const client = yield* VendorClient
  const egress = yield* Egress
  const kept = new Map<string, { readonly client: OauthClient; readonly untilMs: number }>()

  const keep = (found: OauthClient, untilMs: number): void => {
    kept.delete(found.id)
    kept.set(found.id, { client: found, untilMs })
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
  }

  const fetchDocument = Effect.fnUntraced(function* (id: string): Effect.fn.Return<OauthClient, DocumentError> {
    const url = yield* Effect.mapError(Effect.fromResult(egress.check(id)), () => notFetched)
    const request = {
      method: "GET",
      baseUrl: url.origin,
      path: url.pathname,
      headers: { accept: "application/json" },
      body: "",
      isGuarded: true,
    } as const
    const reply = yield* fetchWhole(client, request, maxDocumentBytes).pipe(
      Effect.timeout(timeoutMs),
      Effect.mapError(() => notFetched),
    )
    const document = reply.status === 200 ? Option.getOrUndefined(readDocument(reply.body)) : undefined
    if (document === undefined || document.client_id !== id) return yield* notValid
    const { redirect_uris, client_name, token_endpoint_auth_method: method = "none" } = document
    if (method !== "none" || redirect_uris.some((uri) => placeOf(uri) === undefined)) return yield* notValid
    const found: OauthClient = {
      id,
      name: shownName(client_name, redirect_uris[0]),
      redirectUris: redirect_uris,
      authMethod: "none",
      secretSha256: undefined,
      publisher: url.host,
    }
    keep(found, (yield* Clock.currentTimeMillis) + keptS(reply.headers["cache-control"]) * 1000)
    return found
  })

  /** @param id the address, see {@link isDocumentId} */
  return Effect.fnUntraced(function* (id: string): Effect.fn.Return<OauthClient, DocumentError> {
    const known = kept.get(id)
    if (known !== undefined && known.untilMs > (yield* Clock.currentTimeMillis)) return known.client
    return yield* fetchDocument(id)
  })
})

/** The seconds for which a document is kept. */
const keptS = (cacheControl = ""): number => {
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return leastKeptS
  const asked = Number(/\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1] ?? usualKeptS)
  return Math.min(Math.max(asked, leastKeptS), mostKeptS)
}

const notFetched = serviceError("bad_request", "The document of the client could not be read from its address")
const notValid = serviceError(
  "bad_request",
  "The document of the client is not valid: it needs its own address as client_id, and redirect_uris of HTTPS or this computer",
)
