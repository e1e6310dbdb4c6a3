/** Credentials of a caller (application, end user or person), and the headers that carry them. */
import { signatureLabel } from "../protocol/signature.ts"
import { newUlid } from "../protocol/values/ulid.ts"

/** A token, or a function that returns one and is called before each call. */
export type Token = string | (() => string | Promise<string>)

export type Credentials =
  /** An application's key pair, for servers: never ship it to browsers. */
  | {
      readonly keyId: string
      readonly key: string
      /** Whether each call is signed, so that a third party can neither change nor replay it. */
      readonly sign?: boolean
    }
  /** A token that the application minted for its end user. */
  | { readonly appToken: Token }
  /** A device key or an access token. */
  | { readonly bearer: Token }

export interface Outgoing {
  readonly method: string
  /** Path plus query. */
  readonly target: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** The authentication headers of a call. */
export const credentialHeaders = async (
  credentials: Credentials,
  outgoing: Outgoing,
): Promise<Readonly<Record<string, string>>> => {
  if ("keyId" in credentials) {
    const pair = { "x-svc-key-id": credentials.keyId, "x-svc-key": credentials.key }
    return credentials.sign === true ? { ...pair, ...(await signatureHeaders(credentials.key, outgoing)) } : pair
  }
  if ("appToken" in credentials) return { "x-svc-app-token": await tokenOf(credentials.appToken) }
  return { authorization: `Bearer ${await tokenOf(credentials.bearer)}` }
}

const tokenOf = async (token: Token): Promise<string> => (typeof token === "string" ? token : token())

/** The signature of a request. It uses Web Crypto, which every runtime has. */
const signatureHeaders = async (secret: string, { method, target, body }: Outgoing) => {
  const nowMs = Date.now()
  const ts = String(Math.floor(nowMs / 1000))
  const nonce = newUlid(nowMs)
  const { subtle } = crypto
  const secretHash = await subtle.digest("SHA-256", new TextEncoder().encode(secret))
  const bodyHash = hex(await subtle.digest("SHA-256", body))
  const key = await subtle.importKey("raw", secretHash, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  const signed = new TextEncoder().encode([signatureLabel, method, target, ts, nonce, bodyHash].join("\n"))
  return { "x-svc-ts": ts, "x-svc-nonce": nonce, "x-svc-sign": hex(await subtle.sign("HMAC", key, signed)) }
}

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("")
