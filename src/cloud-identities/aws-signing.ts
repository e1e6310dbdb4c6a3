/**
 * Signature Version 4 by AWS's library, which is loaded with the first request that is signed.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto"
import type { SignatureV4 } from "@smithy/signature-v4"
import type { AwsCredentialIdentity } from "@smithy/types"
import type { Identity, Route } from "./identity.ts"

/** Services that are asked: models at Bedrock, secrets, or files in a bucket, whose paths are signed as they are. */
export type AwsService = "bedrock" | "s3" | "secretsmanager"

const jsonContent = { "content-type": "application/json" }

/**
 * Signs requests to a service in a region. The key of a day is derived once.
 * @param keysBy the keys of this moment
 */
export const makeSigner = (
  service: AwsService,
  region: string,
  keysBy: (route: Route) => Promise<AwsCredentialIdentity>,
): Identity["authorize"] => {
  let library: Promise<typeof SignatureV4> | undefined
  let signer: { readonly keys: AwsCredentialIdentity; readonly sign: SignatureV4 } | undefined
  return async ({ method = "POST", baseUrl, path, body, headers: own = jsonContent }, route) => {
    const keys = await keysBy(route)
    library ??= import("@smithy/signature-v4").then((loaded) => loaded.SignatureV4)
    if (signer?.keys !== keys) {
      const Library = await library
      signer = {
        keys,
        sign: new Library({
          service,
          region,
          sha256: Sha256,
          credentials: keys,
          uriEscapePath: service !== "s3",
        }),
      }
    }
    const { protocol, host, hostname, port, pathname } = new URL(baseUrl)
    const signed = await signer.sign.sign({
      protocol,
      hostname,
      ...(port !== "" && { port: Number(port) }),
      method,
      path: `${pathname.replace(/\/$/, "")}${path}`,
      headers: { host, ...own },
      body,
    })
    const { host: _sentAnyway, ...headers } = signed.headers
    return headers
  }
}

/** The library's interface of a hash, or of a keyed one, on Node's. */
class Sha256 {
  #hash: Hash | Hmac
  readonly #secret: string | Uint8Array | undefined

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined || typeof secret === "string" ? secret : bytesOf(secret)
    this.#hash = this.#make()
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(typeof data === "string" ? data : bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    this.#hash = this.#make()
  }

  #make(): Hash | Hmac {
    return this.#secret === undefined ? createHash("sha256") : createHmac("sha256", this.#secret)
  }
}

const bytesOf = (data: ArrayBuffer | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
