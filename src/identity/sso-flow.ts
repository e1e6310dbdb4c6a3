/**
 * The secrets of one login at an identity provider, all made of one that the asking browser keeps: whoever brings the
 * provider's answer must be who asked. Source: OpenID Connect Core 1.0 section 3.1.2.1 (state, nonce), RFC 7636 (verifier).
 */
import { createHmac, randomBytes } from "node:crypto"

export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  /** 43 characters, the least that RFC 7636 allows; 256 bits. */
  readonly verifier: string
}

/** A new secret for a browser to keep. */
export const newBrowserSecret = (): string => randomBytes(32).toString("base64url")

export const flowSecrets = (browserSecret: string): FlowSecrets => ({
  state: derive(browserSecret, "state"),
  nonce: derive(browserSecret, "nonce"),
  verifier: derive(browserSecret, "verifier"),
})

const derive = (secret: string, use: string): string => createHmac("sha256", secret).update(use).digest("base64url")
