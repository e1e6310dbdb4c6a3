/**
 * Requests to authorisation servers, and to metadata of servers of tools. Their addresses come from servers that nobody vouches for:
 * each passes the egress guard, unless it is at an origin that the catalogue names; redirects are not followed, and replies are short.
 */
import { Data, Effect, Option, Schema } from "effect"
import type { CustomFetch } from "openid-client"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import type { Deadlines } from "../../deadlines.ts"
import {
  fetchWhole,
  type UpstreamBroken,
  type UpstreamRequest,
  type VendorClient,
  type WholeReply,
} from "../../upstream/client.ts"
import { EgressBlocked } from "../../upstream/egress.ts"

/** An account cannot be made or renewed, because of its authorisation server. The message is our own words. */
export class OAuthFailed extends Data.TaggedError("OAuthFailed")<{
  readonly message: string
  /** Whether it may succeed later. */
  readonly isPassing: boolean
  /** The error code of the authorisation server, if it has answered with one. */
  readonly code?: string
  readonly cause?: unknown
}> {}

const mostBytes = 256 * 1024
const withinMs = 10_000

export interface Reach {
  readonly get: (url: string) => Effect.Effect<WholeReply, OAuthFailed>
  readonly postJson: (url: string, body: object) => Effect.Effect<WholeReply, OAuthFailed>
  /** The same as the function that openid-client takes. */
  readonly fetch: CustomFetch
}

export interface ReachServices {
  readonly client: VendorClient["Service"]
  readonly deadlines: Deadlines
}

/** The origins that an operator has written into the catalogue for a server. */
export const ownOrigins = ({ server: { url, oauth } }: ToolServerEntry): ReadonlySet<string> =>
  new Set([url, oauth?.issuer].flatMap((each) => URL.parse(each ?? "")?.origin ?? []))

export const reachFor = ({ client, deadlines }: ReachServices, entry: ToolServerEntry): Reach => {
  const own = ownOrigins(entry)
  const send = (
    url: string,
    { method, headers, body }: Pick<UpstreamRequest, "headers" | "body"> & { readonly method: "GET" | "POST" },
  ): Effect.Effect<WholeReply, UpstreamBroken | OAuthFailed> => {
    const parsed = URL.parse(url)
    if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "")
      return new OAuthFailed({ message: "an address of the authorisation server is invalid", isPassing: false })
    const { origin, pathname, search } = parsed
    const isOwn = own.has(origin)
    const network = isOwn ? entry.targets[0]?.network : undefined
    const request = { method, baseUrl: origin, path: `${pathname}${search}`, headers, body, isGuarded: !isOwn, network }
    return fetchWhole(client, request, mostBytes, { deadlines, timeoutMs: withinMs })
  }
  const sent = (url: string, request: Parameters<typeof send>[1]): Effect.Effect<WholeReply, OAuthFailed> =>
    Effect.catchTag(send(url, request), "UpstreamBroken", ({ cause }) => unreached(cause))
  return {
    get: (url) => sent(url, { method: "GET", headers: { accept: "application/json" }, body: "" }),
    postJson: (url, body) =>
      sent(url, {
        method: "POST",
        headers: { accept: "application/json", "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    fetch: async (url, { method, headers, body }) => {
      const given = body instanceof URLSearchParams ? body.toString() : typeof body === "string" ? body : ""
      const reply = await Effect.runPromise(
        sent(url, {
          method: method === "GET" ? "GET" : "POST",
          headers: Object.fromEntries(new Headers(headers)),
          body: given,
        }),
      )
      const type = reply.headers["content-type"]
      const hasBody = reply.status !== 204 && reply.status !== 205 && reply.status !== 304
      return new Response(hasBody ? reply.body : null, {
        status: reply.status,
        headers: type === undefined ? {} : { "content-type": type },
      })
    },
  }
}

const unreached = (cause: unknown) => {
  const blocked = blockedIn(cause)
  return new OAuthFailed({
    message:
      blocked === undefined
        ? "the authorisation server cannot be reached"
        : "an address of the authorisation server is not allowed",
    isPassing: blocked === undefined,
    cause,
  })
}

const blockedIn = (cause: unknown): EgressBlocked | undefined => {
  if (cause instanceof EgressBlocked) return cause
  return cause instanceof Error ? blockedIn(cause.cause) : undefined
}

/** The document of a reply; undefined if it has another form. */
export const documentOf = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  { body }: WholeReply,
): S["Type"] | undefined =>
  Option.getOrUndefined(
    Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))(body).pipe(
      Option.flatMap(Schema.decodeUnknownOption(schema)),
    ),
  )
