/** A bucket for tests: it verifies the signature (AWS Signature Version 4) or the token, and what it got against its hash. */
import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

export interface Bucket {
  readonly port: number
  /** Paths and what is there. */
  readonly objects: Map<string, Buffer>
  /** Writes, in their order: a path may be written again. */
  readonly written: Array<string>
  readonly refused: Array<string>
  /** The status of the answer; 0 stores the object and then loses the answer, -1 loses the request, -2 never answers. */
  answer: (path: string) => number
  readonly stop: () => Promise<void>
}

export type Check = (request: IncomingMessage, body: Buffer) => string | undefined

export const startBucket = async (check: Check): Promise<Bucket> => {
  const objects = new Map<string, Buffer>()
  const written: Array<string> = []
  const refused: Array<string> = []
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const path = decodeURIComponent(request.url ?? "")
    const status = bucket.answer(path)
    if (status === -1) return request.socket.destroy()
    if (status === -2) return
    const problem = check(request, body)
    if (problem !== undefined) {
      refused.push(problem)
      response.writeHead(403).end("<Error>secret of the bucket</Error>")
      return
    }
    if (status < 300 && request.method === "GET") {
      const found = objects.get(path)
      response.writeHead(found === undefined ? 404 : 200).end(found ?? "<Error>NoSuchKey</Error>")
      return
    }
    if (status < 300 && request.method === "DELETE") {
      response.writeHead(objects.delete(path) ? 204 : 404).end()
      return
    }
    if (status < 300) {
      objects.set(path, body)
      written.push(path)
    }
    if (status === 0) return request.socket.destroy()
    response.writeHead(status).end()
  })
  const bucket: Bucket = {
    port: await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
    ),
    objects,
    written,
    refused,
    answer: () => 200,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return bucket
}

const sha256 = (data: string | Buffer): string => createHash("sha256").update(data).digest("hex")
const hmac = (key: string | Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest()

/** Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
export const checkSignature =
  (accessKeyId: string, secret: string, region: string): Check =>
  ({ headers, method, url = "" }, body) => {
    const [, key, scope = "", names = "", signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? "",
      ) ?? []
    if (key !== accessKeyId) return `unknown key: ${headers.authorization}`
    const [day = "", place = "", service = ""] = scope.split("/")
    if (place !== region || service !== "s3") return `wrong scope ${scope}`
    if (headers["x-amz-content-sha256"] !== sha256(body)) return "the body is not what was signed"
    if (!names.split(";").includes("host") || !names.split(";").includes("x-amz-content-sha256"))
      return `signs ${names}`
    // S3 encodes each part of the path once.
    const path = url
      .split("/")
      .map((part) => encodeURIComponent(decodeURIComponent(part)))
      .join("/")
    const canonical = [
      method,
      path,
      "",
      ...names.split(";").map((name) => `${name}:${String(headers[name]).trim()}`),
      "",
      names,
      headers["x-amz-content-sha256"],
    ].join("\n")
    const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n")
    const derived = ["aws4_request"].reduce(hmac, [region, service].reduce(hmac, hmac(`AWS4${secret}`, day)))
    return hmac(derived, toSign).toString("hex") === signature ? undefined : "the signature is wrong"
  }

/** The check of Google and Azure: a token, and the hash of the body. */
export const checkToken =
  (token: string, needed: Readonly<Record<string, string>> = {}): Check =>
  ({ headers, method }, body) => {
    if (headers.authorization !== `Bearer ${token}`) return `wrong token: ${headers.authorization}`
    const version = needed["x-ms-version"]
    if (headers["x-ms-version"] !== version) return `lacks x-ms-version ${version}`
    if (method !== "PUT") return undefined
    if (headers["content-md5"] !== createHash("md5").update(body).digest("base64"))
      return "the body is not what was sent"
    const missing = Object.entries(needed).filter(([name, value]) => headers[name] !== value)
    return missing.length === 0 ? undefined : `lacks ${JSON.stringify(missing)}`
  }
