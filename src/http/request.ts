/** What routes read from a request: its body within the limit, the caller's address, JSON by schema. */
import { ByteSize, Effect, Option, Schema } from "effect"
import { HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { IpNetwork, type NetAddress } from "effect/net"
import { parseAddress, parseNetwork } from "../net/network.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput, issuesOf } from "../protocol/issues.ts"

/** The raw bytes, which signatures cover. */
export const readBody = (
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
): Effect.Effect<Uint8Array, ServiceError<"payload_too_large" | "bad_request">> =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)),
    Effect.map((buffer) => new Uint8Array(buffer)),
    Effect.mapError((error) =>
      isTooLarge(error) ? bodyTooLarge(maxBytes) : serviceError("bad_request", "The body could not be read"),
    ),
  )

export const bodyTooLarge = (maxBytes: number): ServiceError<"payload_too_large"> =>
  serviceError("payload_too_large", `The body is larger than ${maxBytes} bytes`)

const isTooLarge = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"

/** Decodes a JSON body; unknown fields are refused. */
export const readJson = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  request: HttpServerRequest.HttpServerRequest,
  maxBytes: number,
): Effect.Effect<S["Type"], ServiceError<"payload_too_large" | "bad_request">> =>
  Effect.flatMap(readBody(request, maxBytes), (body) => decodeJson(schema, body))

/** The same of a body that was read already. */
export const decodeJson = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  body: Uint8Array,
): Effect.Effect<S["Type"], ServiceError<"bad_request">> =>
  Effect.fromResult(
    Schema.decodeUnknownResult(Schema.fromJsonString(schema), { errors: "all", onExcessProperty: "error" })(
      Buffer.from(body).toString("utf8"),
    ),
  ).pipe(Effect.mapError((error) => invalidInput(issuesOf(error))))

/**
 * The caller's address. `X-Forwarded-For` is believed only as far as proxies that the operator trusts wrote it: read
 * from the right, the first address that is no trusted proxy is the caller.
 */
export const makeCallerAddress = (trustedProxies: ReadonlyArray<string>) => {
  const trusted = trustedProxies.flatMap((network) => {
    const parsed = parseNetwork(network)
    return parsed === undefined ? [] : [parsed]
  })
  const isTrusted = (address: NetAddress.IpAddress) => trusted.some((network) => IpNetwork.contains(network, address))

  return (
    request: Pick<HttpServerRequest.HttpServerRequest, "remoteAddress"> & {
      readonly headers: Readonly<Record<string, string | undefined>>
    },
  ): NetAddress.IpAddress | undefined => {
    let caller = parseAddress(Option.getOrElse(request.remoteAddress, () => ""))
    const forwarded = trusted.length === 0 ? [] : (request.headers["x-forwarded-for"] ?? "").split(",").reverse()
    for (const hop of forwarded) {
      if (caller === undefined || !isTrusted(caller)) return caller
      caller = parseAddress(hop.trim()) ?? caller
    }
    return caller
  }
}

/** Where the asker reaches this service: the public address where one is set, else what the request says of its host. */
export const originOf = (
  publicUrl: string | undefined,
  { headers }: Pick<HttpServerRequest.HttpServerRequest, "headers">,
): string => publicUrl ?? `http://${headers["host"] ?? "localhost"}`
