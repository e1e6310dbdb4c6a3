/** Request signatures: HMAC-SHA256 over six parts, keyed by the raw SHA-256 digest of the plaintext secret. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { signatureLabel } from "../protocol/signature.ts"

const maxSkewSeconds = 300

export interface SignedParts {
  readonly method: string
  /** Path plus query, as sent. */
  readonly target: string
  /** Unix seconds, decimal. */
  readonly ts: string
  readonly nonce: string
  readonly body: SignedBody
}

/**
 * A body, its SHA-256 in hexadecimal, or the fact that it has not been read: then the signature is verified again after the
 * body is read. For a socket, the signature of its upgrade was verified before.
 */
export type SignedBody = Uint8Array | { readonly sha256: string } | "unread" | "verified"

/** The value of `x-svc-sign`: 64 lowercase hexadecimal characters. */
export const sign = (secretSha256: Uint8Array, { method, target, ts, nonce, body }: SignedParts): string => {
  const bodyHash = hashOf(body)
  return createHmac("sha256", secretSha256)
    .update([signatureLabel, method, target, ts, nonce, bodyHash].join("\n"))
    .digest("hex")
}

const hashOf = (body: SignedBody): string => {
  if (typeof body === "string") return ""
  return body instanceof Uint8Array ? createHash("sha256").update(body).digest("hex") : body.sha256
}

export interface SignatureHeaders {
  readonly ts: string | undefined
  readonly nonce: string | undefined
  readonly sign: string | undefined
}

export type SignatureVerdict =
  | { readonly _tag: "Unsigned" }
  | { readonly _tag: "Signed"; readonly nonce: string }
  | { readonly _tag: "Invalid"; readonly reason: string }

const invalid = (reason: string): SignatureVerdict => ({ _tag: "Invalid", reason })

/**
 * Verifies the three headers of a request; either all or none must be present. The gate checks whether the nonce is
 * new.
 */
export const verifySignature = (
  headers: SignatureHeaders,
  request: Omit<SignedParts, "ts" | "nonce">,
  secretSha256: Uint8Array,
  nowMs: number,
): SignatureVerdict => {
  const { ts, nonce, sign: given } = headers
  if (ts === undefined && nonce === undefined && given === undefined) return { _tag: "Unsigned" }
  if (ts === undefined || nonce === undefined || given === undefined) {
    return invalid("x-svc-ts, x-svc-nonce and x-svc-sign must appear together")
  }
  if (!/^\d{1,15}$/.test(ts)) return invalid("x-svc-ts must be unix seconds")
  if (nonce.length < 16 || nonce.length > 128) return invalid("x-svc-nonce must have 16 to 128 characters")
  if (!/^[0-9a-f]{64}$/.test(given)) return invalid("x-svc-sign must be 64 lowercase hexadecimal characters")
  if (request.body === "verified") return { _tag: "Signed", nonce }
  if (Math.abs(nowMs / 1000 - Number(ts)) > maxSkewSeconds) {
    return invalid(`x-svc-ts is more than ${maxSkewSeconds} seconds off`)
  }
  if (request.body === "unread") return { _tag: "Signed", nonce }
  const expected = sign(secretSha256, { ...request, ts, nonce })
  return timingSafeEqual(Buffer.from(given), Buffer.from(expected))
    ? { _tag: "Signed", nonce }
    : invalid("x-svc-sign does not match the request")
}
