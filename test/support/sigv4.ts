/**
 * Signature Version 4 by its own calculation, to verify what others signed. Source:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from "node:crypto"

export interface Received {
  readonly method: string
  /** The path as it was sent, without its query. */
  readonly path: string
  readonly query?: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Uint8Array | string
}

const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest()
const hex = (data: Uint8Array | string) => createHash("sha256").update(data).digest("hex")

/** The signature that a request must have; paths are encoded once more than they were sent. */
export const signatureOf = (
  { method, path, query = "", headers, body }: Received,
  secret: string,
  signedHeaders: ReadonlyArray<string>,
  [date, region, service]: readonly [date: string, region: string, service: string],
): string => {
  const canonical = [
    method,
    path.split("/").map(encodeURIComponent).join("/"),
    query,
    ...signedHeaders.map((name) => `${name}:${String(headers[name]).trim()}`),
    "",
    signedHeaders.join(";"),
    hex(body),
  ].join("\n")
  const scope = `${date}/${region}/${service}/aws4_request`
  const toSign = ["AWS4-HMAC-SHA256", String(headers["x-amz-date"]), scope, hex(canonical)].join("\n")
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), "aws4_request")
  return hmac(key, toSign).toString("hex")
}

const authorizationPattern =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/

/** The reason why a server of AWS would refuse a request; undefined if its signature is right. */
export const refusalOf = (
  request: Received,
  keys: { readonly accessKeyId: string; readonly secretAccessKey: string },
  ofService = "bedrock",
): string | undefined => {
  const [, id, date = "", region = "", service = "", names = "", signature] =
    authorizationPattern.exec(String(request.headers["authorization"])) ?? []
  if (id === undefined) return "no signature"
  if (id !== keys.accessKeyId) return "another access key"
  const signed = names.split(";")
  for (const needed of ["host", "x-amz-date", "content-type"]) if (!signed.includes(needed)) return `unsigned ${needed}`
  if (!String(request.headers["x-amz-date"]).startsWith(date)) return "another day"
  if (service !== ofService) return "another service"
  const expected = signatureOf(request, keys.secretAccessKey, signed, [date, region, service])
  return expected === signature ? undefined : "SignatureDoesNotMatch"
}
