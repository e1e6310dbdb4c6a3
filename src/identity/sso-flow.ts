/**
 * The secrets of one login at an identity provider, derived from one secret that the browser stores: the callback must
 * come from the browser that started the login. Source: OpenID Connect Core 1.0 section 3.1.2.1 (state, nonce), RFC
 * 7636 (verifier).
 */
import { createHmac, randomBytes } from "node:crypto"

export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  /** 43 characters, the minimum of RFC 7636; 256 bits. */
  readonly verifier: string
}

/** A new secret for the browser. */
export const newBrowserSecret = (): string => randomBytes(32).toString("base64url")

export const flowSecrets = (browserSecret: string): FlowSecrets => ({
  state: derive(browserSecret, "state"),
  nonce: derive(browserSecret, "nonce"),
  verifier: derive(browserSecret, "verifier"),
})

const derive = (secret: string, use: string): string => createHmac("sha256", secret).update(use).digest("base64url")
