/**
 * Sealing what is kept of answers: AES-256-GCM under the server's key. What was sealed under another key, or altered,
 * does not open, and counts as not there.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

export interface Sealer {
  readonly seal: (text: string) => string
  readonly open: (sealed: string) => string | undefined
}

const ivBytes = 12
const tagBytes = 16

/** @param secret the server's key, of any length; without one a key of this process's own is used, and dies with it */
export const makeSealer = (secret: string | undefined): Sealer => {
  const key = secret === undefined ? randomBytes(32) : createHash("sha256").update(secret).digest()
  return {
    seal: (text) => {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv("aes-256-gcm", key, iv)
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64")
    },
    open: (sealed) => {
      try {
        const bytes = Buffer.from(sealed, "base64")
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivBytes))
        decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
        const text = decipher.update(bytes.subarray(ivBytes + tagBytes))
        return Buffer.concat([text, decipher.final()]).toString("utf8")
      } catch {
        return undefined
      }
    },
  }
}
