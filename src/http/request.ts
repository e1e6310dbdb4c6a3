/** Reading requests: body within the limit, JSON by schema, the caller's address. */
import { ByteSize, Effect, Option, Result, Schema } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { IpNetwork, type NetAddress } from "effect/net"
import { isDevelopment, type WeirConfig } from "../config.ts"
import { bodyTooLarge, type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput, issuesOf } from "../protocol/json/issues.ts"
import { decodeJson, parseBody } from "../protocol/json/json-body.ts"
import { parseAddress, parseNetwork } from "../protocol/values/network.ts"
import { decodeContent } from "./content-encoding.ts"

export type Request = HttpServerRequest.HttpServerRequest

/** The raw bytes, which signatures cover. */
export const readBody = (
  request: Request,
  maxBytes: number,
): Effect.Effect<Uint8Array, ServiceError<"payload_too_large" | "bad_request">> =>
  Number(request.headers["content-length"] ?? 0) > maxBytes
    ? Effect.fail(bodyTooLarge(maxBytes))
    : request.arrayBuffer.pipe(
        Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)),
        Effect.map((buffer) => new Uint8Array(buffer)),
        Effect.mapError((error) =>
          isTooLarge(error) ? bodyTooLarge(maxBytes) : serviceError("bad_request", "The body could not be read"),
        ),
        Effect.timeoutOrElse({
          duration: maxBytes <= smallBytes ? smallBodyMs : bodyMs,
          orElse: () => Effect.fail(serviceError("bad_request", "The body did not arrive in time")),
        }),
      )

/** The timeout of a body that no honest client sends slowly: bodies of login routes, whose senders are not known yet. */
const smallBytes = 16 * 1024
const smallBodyMs = 10_000
/** The times that a connection of HTTP/1.1 may take. */
const bodyMs = 300_000

const isTooLarge = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"

/** The body without its content encoding. */
export const readContent = (
  request: Request,
  maxBytes: number,
): Effect.Effect<Uint8Array, ServiceError<"payload_too_large" | "bad_request">> =>
  Effect.flatMap(readBody(request, maxBytes), (body) =>
    decodeContent(request.headers["content-encoding"], body, maxBytes),
  )

/** Decodes a JSON body; unknown fields are refused. */
export const readJson = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  request: Request,
  maxBytes: number,
): Effect.Effect<S["Type"], ServiceError<"payload_too_large" | "bad_request">> =>
  Effect.flatMap(readContent(request, maxBytes), (body) => decodeBody(schema, body))

/** Decodes a JSON body that has already been read. */
export const decodeBody = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  body: Uint8Array,
): Effect.Effect<S["Type"], ServiceError<"bad_request">> =>
  Effect.fromResult(Result.flatMap(parseBody(body), (json) => decodeJson(schema, json)))

/** A header by its schema; undefined if it is absent. */
export const headerOf = <S extends Schema.ConstraintDecoder<unknown>>(
  name: string,
  schema: S,
  { headers }: { readonly headers: Readonly<Record<string, string | undefined>> },
): Effect.Effect<S["Type"] | undefined, ServiceError<"bad_request">> =>
  headers[name] === undefined
    ? Effect.undefined
    : Effect.fromResult(Schema.decodeUnknownResult(schema)(headers[name])).pipe(
        Effect.mapError((error) => invalidInput(issuesOf(error).map(({ message }) => ({ path: name, message })))),
      )

/** The revision in `If-Match`, quoted or not. */
export const ifMatchOf = ({
  headers,
}: Pick<Request, "headers">): Effect.Effect<number | undefined, ServiceError<"bad_request">> => {
  const header = headers["if-match"]
  if (header === undefined) return Effect.undefined
  const revision = /^(?:W\/)?"?(\d{1,15})"?$/.exec(header.trim())?.[1]
  return revision === undefined
    ? Effect.fail(invalidInput([{ path: "if-match", message: "a revision is required" }]))
    : Effect.succeed(Number(revision))
}

/**
 * The caller's address. `X-Forwarded-For` is trusted only as far as trusted proxies wrote it: read from the right, the first
 * address that is not a trusted proxy is the caller. An unreadable address ends the search: anybody may have written the part
 * to the left of it.
 */
export const makeCallerAddress = (trustedProxies: ReadonlyArray<string>) => {
  const trusted = trustedProxies.flatMap((network) => {
    const parsed = parseNetwork(network)
    return parsed === undefined ? [] : [parsed]
  })
  const isTrusted = (address: NetAddress.IpAddress) => trusted.some((network) => IpNetwork.contains(network, address))

  return (
    request: Pick<Request, "remoteAddress"> & {
      readonly headers: Readonly<Record<string, string | undefined>>
    },
  ): NetAddress.IpAddress | undefined => {
    let caller = parseAddress(Option.getOrElse(request.remoteAddress, () => ""))
    const forwarded = trusted.length === 0 ? [] : (request.headers["x-forwarded-for"] ?? "").split(",").reverse()
    for (const hop of forwarded) {
      if (hop.trim() === "") continue
      if (caller === undefined || !isTrusted(caller)) return caller
      const before = addressOfHop(hop.trim())
      if (before === undefined) return caller
      caller = before
    }
    return caller
  }
}

/** Some proxies write the port too: `203.0.113.7:4711`, `[2001:db8::1]:4711`. */
const addressOfHop = (hop: string): NetAddress.IpAddress | undefined => {
  const { inBrackets, withPort } = hopPattern.exec(hop)?.groups ?? {}
  return parseAddress(inBrackets ?? withPort ?? hop)
}
const hopPattern = /^(?:\[(?<inBrackets>[^\]]+)\](?::\d+)?|(?<withPort>[\d.]+):\d+)$/

/** Whether clients reach this service by HTTPS: its own, or that of a proxy in front of it. */
export const isHttps = ({ publicUrl, tls }: Pick<WeirConfig["Service"], "publicUrl" | "tls">): boolean =>
  publicUrl === undefined ? tls !== undefined : publicUrl.startsWith("https:")

type Places = Pick<WeirConfig["Service"], "publicUrl" | "publicHosts" | "tls" | "basePath">

/**
 * The public address of this service: the configured URL, otherwise the request's host and the path below which it serves. If
 * hosts are configured, it is one of them for any request.
 */
export const originOf = (
  { publicUrl, publicHosts, tls, basePath }: Places,
  { headers }: { readonly headers: Readonly<Record<string, string | undefined>> },
): string => {
  if (publicUrl !== undefined) return publicUrl
  const asked = headers["host"] ?? "localhost"
  const host = publicHosts.includes(asked) ? asked : (publicHosts[0] ?? asked)
  return `${tls === undefined ? "http" : "https"}://${host}${basePath}`
}

/** The addresses under which clients may know this service: the public one, and the one that the request was sent to. */
export const originsOf = (places: Places, request: Parameters<typeof originOf>[1]): ReadonlyArray<string> => {
  const own = originOf(places, request)
  const asked = places.publicUrl === undefined ? own : originOf({ ...places, publicUrl: undefined }, request)
  return asked === own ? [own] : [own, asked]
}

/**
 * The origin for links in mails, which reach other people than the sender of the request. Outside development, undefined if
 * only the request's `Host` has it, because everybody can send any `Host`.
 */
export const mailOriginOf = (
  config: Places & Pick<WeirConfig["Service"], "env">,
  request: Pick<Request, "headers">,
): string | undefined =>
  config.publicUrl !== undefined || config.publicHosts.length > 0 || isDevelopment(config)
    ? originOf(config, request)
    : undefined
