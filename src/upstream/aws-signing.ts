/**
 * Signature Version 4 with access keys, by AWS's library; it is loaded with the first request that is signed.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto"
import type { SignatureV4 } from "@smithy/signature-v4"
import { Redacted } from "effect"
import type { Identity, OutgoingRequest } from "./identity.ts"

/** Signatures are made here: nobody is asked. */
export interface AwsIdentity extends Identity {
  readonly authorize: (request: OutgoingRequest) => Promise<Readonly<Record<string, string>>>
}

export interface AwsKeys {
  readonly accessKeyId: Redacted.Redacted
  readonly secretAccessKey: Redacted.Redacted
  /** Of keys for a limited time. */
  readonly sessionToken?: Redacted.Redacted | undefined
}

const service = "bedrock"

/** Signs POST requests with JSON to Bedrock in a region. */
export const makeAwsIdentity = (region: string, keys: AwsKeys): AwsIdentity => {
  let library: Promise<SignatureV4> | undefined
  return {
    authorize: async ({ baseUrl, path, body }) => {
      library ??= loadLibrary(region, keys)
      const signature = await library
      const { protocol, host, hostname, port, pathname } = new URL(baseUrl)
      const signed = await signature.sign({
        protocol,
        hostname,
        ...(port !== "" && { port: Number(port) }),
        method: "POST",
        path: `${pathname.replace(/\/$/, "")}${path}`,
        headers: { host, "content-type": "application/json" },
        body,
      })
      const { host: _sentAnyway, ...headers } = signed.headers
      return headers
    },
  }
}

const loadLibrary = async (region: string, keys: AwsKeys): Promise<SignatureV4> => {
  const { SignatureV4 } = await import("@smithy/signature-v4")
  const { accessKeyId, secretAccessKey, sessionToken } = keys
  return new SignatureV4({
    service,
    region,
    sha256: Sha256,
    credentials: {
      accessKeyId: Redacted.value(accessKeyId),
      secretAccessKey: Redacted.value(secretAccessKey),
      ...(sessionToken !== undefined && { sessionToken: Redacted.value(sessionToken) }),
    },
  })
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
