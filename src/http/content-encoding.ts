/** Bodies that arrive compressed. Source: RFC 9110 section 8.4 (Content-Encoding), RFC 8878 (zstd). */
import { promisify } from "node:util"
import { brotliDecompress, gunzip, zstdDecompress } from "node:zlib"
import { Effect, Predicate } from "effect"
import { bodyTooLarge, type ServiceError, serviceError } from "../protocol/error.ts"

type Decompress = (body: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>

const decompressors: ReadonlyMap<string, Decompress> = new Map<string, Decompress>([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["br", promisify(brotliDecompress)],
  ["zstd", promisify(zstdDecompress)],
])

/**
 * Decodes a body. The limit applies to the decoded size.
 * @param encoding the value of `Content-Encoding`; undefined or `identity` leaves the body as it is
 */
export const decodeContent = (
  encoding: string | undefined,
  body: Uint8Array,
  maxBytes: number,
): Effect.Effect<Uint8Array, ServiceError<"bad_request" | "payload_too_large">> => {
  const name = encoding?.trim().toLowerCase() ?? "identity"
  if (name === "identity" || name === "") return Effect.succeed(body)
  const decompress = decompressors.get(name)
  if (decompress === undefined) {
    return Effect.fail(serviceError("bad_request", "Content-Encoding must be gzip, br, zstd or identity"))
  }
  return Effect.tryPromise({
    try: () => decompress(body, { maxOutputLength: maxBytes }),
    catch: (error) =>
      Predicate.hasProperty(error, "code") && error.code === "ERR_BUFFER_TOO_LARGE"
        ? bodyTooLarge(maxBytes)
        : serviceError("bad_request", `The body is not valid ${name}`),
  })
}
