/** Replies whose text is compressed as the client accepts it. */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Request } from "./request.ts"

export type Encoding = "br" | "gzip" | "identity"

/** The best encoding that a request accepts; a weight of 0 refuses one. @see RFC 9110, section 12.5.3 */
export const encodingOf = (request: Request): Encoding => {
  const accepted = (request.headers["accept-encoding"] ?? "")
    .toLowerCase()
    .split(",")
    .flatMap((part) => {
      const [name = "", ...parameters] = part.split(";").map((text) => text.trim())
      return parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter)) ? [] : [name]
    })
  if (accepted.includes("br")) return "br"
  return accepted.includes("gzip") ? "gzip" : "identity"
}

/** Brotli's qualities: of what is compressed once and kept, and of what is compressed at each request. */
const [ofKept, ofEach] = [9, 5]

/** A text that is kept in this encoding. */
export const compress = (text: string, encoding: Encoding, quality = ofKept): Promise<Uint8Array> => {
  const bytes = Buffer.from(text)
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
  if (encoding === "br") return promisify(brotliCompress)(bytes, { params })
  return encoding === "gzip" ? promisify(gzip)(bytes) : Promise.resolve(bytes)
}

/** The headers of a reply in an encoding. */
export const encodingHeaders = (encoding: Encoding): Readonly<Record<string, string>> => ({
  vary: "accept-encoding",
  ...(encoding !== "identity" && { "content-encoding": encoding }),
})

/** A text, compressed at each request. */
export const compressed = (
  request: Request,
  contentType: string,
  text: string,
  headers: Readonly<Record<string, string>>,
) => {
  const encoding = encodingOf(request)
  return Effect.map(
    Effect.promise(() => compress(text, encoding, ofEach)),
    (body) =>
      HttpServerResponse.uint8Array(body, { contentType, headers: { ...headers, ...encodingHeaders(encoding) } }),
  )
}
