/**
 * Sealing what is kept of answers, and keys that organisations bring: AES-256-GCM under the server's master key. What
 * was sealed under another key, for another context, or altered, does not open, and counts as not there.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"

export interface Sealer {
  /** @param context what the text belongs to; it must be the same to open it */
  readonly seal: (text: string, context?: string) => string
  readonly open: (sealed: string, context?: string) => string | undefined
  /** Whether this was sealed under the key in force, and not under the one before. */
  readonly isCurrent: (sealed: string) => boolean
}

interface Key {
  /** Tells keys apart in what they sealed, and nothing about them. */
  readonly id: string
  readonly bytes: Buffer
}

const ivBytes = 12
const tagBytes = 16

/**
 * @param secret the server's master key, of any length; without one a key of this process's own is used, and dies with it
 * @param previous the key before, which opens what it sealed and seals nothing
 */
export const makeSealer = (secret: string | undefined, previous?: string): Sealer => {
  const current = makeKey(secret === undefined ? randomBytes(32) : digest(secret))
  const keys = new Map([[current.id, current]])
  if (previous !== undefined) {
    const key = makeKey(digest(previous))
    keys.set(key.id, key)
  }
  const keyOf = (sealed: string): Key | undefined => keys.get(sealed.slice(0, sealed.indexOf(".")))

  return {
    isCurrent: (sealed) => keyOf(sealed) === current,
    seal: (text, context = "") => {
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv("aes-256-gcm", current.bytes, iv).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
      return `${current.id}.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64")}`
    },
    open: (sealed, context = "") => {
      const key = keyOf(sealed)
      if (key === undefined) return undefined
      try {
        const bytes = Buffer.from(sealed.slice(sealed.indexOf(".") + 1), "base64")
        const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, ivBytes))
        decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
        const text = decipher.update(bytes.subarray(ivBytes + tagBytes))
        return Buffer.concat([text, decipher.final()]).toString("utf8")
      } catch {
        return undefined
      }
    },
  }
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest()

const makeKey = (bytes: Buffer): Key => ({ id: createHash("sha256").update(bytes).digest("hex").slice(0, 8), bytes })
