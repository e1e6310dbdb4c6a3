/**
 * Signatures of AWS's clients: Signature Version 4 over method, path, query, headers and the body's hash. The secret access key
 * is the SHA-256 of the key's secret, in hexadecimal: secrets are hashed at rest. With `SVC_AWS_SIGNATURES` only, because then
 * the hash alone makes calls.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { entryOf } from "../protocol/values/entry.ts"
import type { SignedBody } from "./signature.ts"

type Headers = Readonly<Record<string, string | undefined>>

/** The header `authorization` of a signed request. */
export interface AwsSignature {
  readonly keyId: string
  /** Day, region, service, and a constant. */
  readonly scope: readonly [day: string, region: string, service: string, end: string]
  /** In the order of the signature. */
  readonly signedHeaders: ReadonlyArray<string>
  readonly signature: string
}

export interface AwsRequest {
  readonly method: string
  /** Path plus query, as the client sent them. */
  readonly target: string
  readonly headers: Headers
  readonly body: SignedBody
}

const algorithm = "AWS4-HMAC-SHA256"
const maxSkewMs = 300_000
const mostHeaders = 64
const mostUnverifiedBytes = 128 * 1024

const credential = /^Credential=([^/\s,]{1,128})\/(\d{8})\/([\w-]{1,64})\/([\w-]{1,64})\/(aws4_request)$/
const signedNames = /^SignedHeaders=([a-z0-9!#$%&'*+.^_`|~;-]{1,4096})$/
const signatureText = /^Signature=([0-9a-f]{64})$/

/** Only here do clients sign so: elsewhere it would be a second way in. */
const signedBelow = "/bedrock/"

/** The signature of a request; undefined if it has none that can be read. @param target its path, as the gateway's routes have it */
export const awsSignatureIn = ({ authorization = "" }: Headers, target: string): AwsSignature | undefined => {
  if (!authorization.startsWith(`${algorithm} `) || authorization.length > 8192) return undefined
  if (!target.startsWith(signedBelow)) return undefined
  const parts = authorization
    .slice(algorithm.length)
    .split(",")
    .map((part) => part.trim())
  const [, keyId, day, region, service, end] = credential.exec(parts[0] ?? "") ?? []
  const [, names] = signedNames.exec(parts[1] ?? "") ?? []
  const [, signature] = signatureText.exec(parts[2] ?? "") ?? []
  if (keyId === undefined || names === undefined || signature === undefined || parts.length !== 3) return undefined
  const signedHeaders = names.split(";")
  if (signedHeaders.length > mostHeaders) return undefined
  return { keyId, scope: [day ?? "", region ?? "", service ?? "", end ?? ""], signedHeaders, signature }
}

/**
 * The reason why a signature is refused; undefined if it is valid. Before the body is read, the hash that a signed header
 * claims is used, or nothing but the shape and the time are checked.
 */
export const refusalOfAws = (
  signature: AwsSignature,
  request: AwsRequest,
  secretsSha256: ReadonlyArray<Uint8Array>,
  nowMs: number,
): string | undefined => {
  const { "x-amz-date": date = "", "x-amz-content-sha256": claimed } = request.headers
  const sentMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  const [day, , service] = signature.scope
  if (Number.isNaN(sentMs) || !date.startsWith(day)) return "x-amz-date must be the time of the signature"
  if (service !== "bedrock") return "the signature is for another service than bedrock"
  if (!["host", "x-amz-date"].every((name) => signature.signedHeaders.includes(name))) {
    return "the signature must cover host and x-amz-date"
  }
  const { body } = request
  // The signature of a stream that goes on was verified when it began.
  if (body === "verified") return undefined
  if (Math.abs(nowMs - sentMs) > maxSkewMs) return `x-amz-date is more than ${maxSkewMs / 1000} seconds off`
  if (body === "unread" && claimed === undefined) {
    return isSmall(request.headers) ? undefined : "a body of this size needs the header x-amz-content-sha256"
  }
  const bodySha256 = body === "unread" ? (claimed ?? "") : sha256Of(body)
  if (claimed !== undefined && claimed !== bodySha256) return "x-amz-content-sha256 is not the hash of the body"
  const given = Buffer.from(signature.signature)
  const isValid = secretsSha256
    .map((secret) => awsSignatureOf(signature, request, bodySha256, Buffer.from(secret).toString("hex")))
    .map((expected) => timingSafeEqual(given, Buffer.from(expected)))
    .includes(true)
  return isValid ? undefined : "the signature does not match the request"
}

/** Whether the body may be read before the signature, which covers it, can be verified. */
const isSmall = ({ "content-length": length = "", "content-encoding": encoding }: Headers): boolean =>
  encoding === undefined && /^\d{1,6}$/.test(length) && Number(length) <= mostUnverifiedBytes

const sha256Of = (body: Exclude<SignedBody, string>): string =>
  body instanceof Uint8Array ? hashOf(body) : body.sha256

const hashOf = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex")
const hmac = (key: string | Uint8Array, data: string): Buffer => createHmac("sha256", key).update(data).digest()

/** The signature of a request with a secret access key. */
export const awsSignatureOf = (
  { scope, signedHeaders }: Pick<AwsSignature, "scope" | "signedHeaders">,
  { method, target, headers }: Omit<AwsRequest, "body">,
  bodySha256: string,
  secret: string,
): string => {
  const [path = "/", query = ""] = target.split(/\?(.*)/s, 2)
  const canonical = [
    method,
    path.split("/").map(encode).join("/"),
    canonicalQuery(query),
    ...signedHeaders.map((name) => `${name}:${(entryOf(headers, name) ?? "").trim().replace(/\s+/g, " ")}`),
    "",
    signedHeaders.join(";"),
    bodySha256,
  ].join("\n")
  const text = [algorithm, headers["x-amz-date"] ?? "", scope.join("/"), hashOf(canonical)].join("\n")
  const key = scope.reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`)
  return hmac(key, text).toString("hex")
}

/** Names and values are sorted as they are encoded. */
const canonicalQuery = (query: string): string =>
  query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", value = ""] = pair.split(/=(.*)/s, 2)
      return [encode(decode(name)), encode(decode(value))] as const
    })
    .sort(([a, one], [b, other]) => order(a, b) || order(one, other))
    .map((pair) => pair.join("="))
    .join("&")

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** RFC 3986: all but unreserved characters. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
