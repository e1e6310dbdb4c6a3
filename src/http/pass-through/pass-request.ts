/** Reads a request of a route that is passed through. Pure. */
import { createHash } from "node:crypto"
import { Result } from "effect"
import type { DecodedCall } from "../../calls/held-call.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { PassedMethod, PassedRequest } from "../../kinds/passed/passed-request.ts"
import { typeOf } from "../../kinds/passed/reply-form.ts"
import { idsInPath, namedIn } from "../../pass-through/named-ids.ts"
import { textOfQuery } from "../../pass-through/query-text.ts"
import type { FoundRoute } from "../../pass-through/routes.ts"
import { serviceError } from "../../protocol/error.ts"
import { type Decoded, parsePlainly } from "../../protocol/json/json-body.ts"
import { fingerprint } from "../../protocol/values/canonical.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { readMeta } from "../compatible/request.ts"

/** Parameters with which clients send their credential for this gateway. */
const credentials: ReadonlySet<string> = new Set(["key", "access_token", "api_key", "apikey", "api-key", "token"])

const tooMany = serviceError(
  "bad_request",
  "The request has too much text, in which ids are looked for: send it as a file",
)

export const readPassed = (
  { route, path, segments }: FoundRoute<CallTarget>,
  method: PassedMethod,
  { headers: sent, url }: Pick<RuntimeRequest, "headers" | "url">,
  body: Uint8Array,
): Decoded<DecodedCall<PassedRequest>> => {
  const query = withoutCredentials(url.includes("?") ? url.slice(url.indexOf("?") + 1) : "")
  const headers = passedHeaders(sent, route.headers)
  const type = typeOf(sent["content-type"])
  const isJson = body.length > 0 && (type === "" || type === "application/json" || type.endsWith("+json"))
  const parsed = isJson ? parsePlainly(body) : undefined
  if (parsed !== undefined && Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const json = parsed?.success.json
  const named = namedIn({
    segments: segments.flatMap(({ text, isNamed }) => (isNamed ? [] : [text])),
    query,
    headers,
    json,
    text: isJson ? undefined : textOf(body, sent["content-type"]),
  })
  if (named === undefined) return Result.fail(tooMany)
  const checked = readMeta(sent)
  if (Result.isFailure(checked)) return Result.fail(checked.failure)
  const meta = checked.success
  const asked = query === "" ? path : `${path}?${query}`
  return Result.succeed({
    request: {
      route,
      method,
      path: asked,
      headers,
      body,
      json,
      ids: idsInPath(segments),
      named,
      ...(meta !== undefined && { meta }),
    },
    payloadHash:
      meta?.requestId === undefined
        ? undefined
        : fingerprint([route.handle, method, asked, createHash("sha256").update(body).digest("hex")]),
  })
}

const passedHeaders = (
  sent: RuntimeRequest["headers"],
  names: ReadonlySet<string>,
): Readonly<Record<string, string>> => {
  const passed: Record<string, string> = {}
  for (const name of names) {
    const value = sent[name]
    if (value !== undefined) passed[name] = value
  }
  return passed
}

const withoutCredentials = (query: string): string =>
  query
    .split("&")
    .filter((pair) => !credentials.has(nameIn(pair)))
    .join("&")

const nameIn = (pair: string): string => {
  const name = pair.split("=", 1)[0] ?? ""
  try {
    return decodeURIComponent(name).toLowerCase()
  } catch {
    return name.toLowerCase()
  }
}

/** Types of bodies that have text. */
const textTypes = /^(?:$|text\/|application\/(?:xml|sdp|x?-?ndjson|jsonl|x-jsonlines)$)/

/**
 * The text in which ids are looked for: of a form's fields, of every other text, and of what looks like JSON, which some
 * vendors read under any type; undefined for the content of a file.
 */
const textOf = (body: Uint8Array, sent: string | undefined): string | undefined => {
  const type = typeOf(sent)
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1")
  if (type === "application/x-www-form-urlencoded") return textOfQuery(text).join("\n")
  if (type.startsWith("multipart/")) return textOfForm(text, sent ?? "")
  return textTypes.test(type) || /^[^\x21-\x7e]{0,200}[[{"]/.test(text) ? text : undefined
}

/** Longer content of a file is not searched. A vendor may take shorter content for a field's value. */
const shortFile = 1024

const textOfForm = (text: string, type: string): string => {
  const boundaries = [...type.matchAll(/boundary=(?:"([^"]+)"|([^\s;"]+))/gi)]
  const [, quoted, plain] = boundaries[0] ?? []
  const boundary = quoted ?? plain
  // Readers may differ about the parts.
  if (boundary === undefined || boundaries.length > 1) return text
  const [before = "", ...parts] = text.split(`--${boundary}`)
  return [before, ...parts.map(textOfPart)].join("\n")
}

const textOfPart = (part: string): string => {
  const [head = ""] = part.split(/\r?\n\r?\n/, 1)
  const isFile = /^content-disposition:[^\r\n]*;\s*filename\*?=/im.test(head)
  return isFile && part.length - head.length > shortFile ? head : part
}
