/**
 * Encrypts stored replies and organisations' upstream keys: AES-256-GCM with the server's master key. Text sealed with
 * another key, for another context, or altered, cannot be opened and is treated as absent.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { WeirConfig } from "../config.ts"

export interface Sealer {
  /** @param context the entry that the text belongs to; opening requires the same context */
  readonly seal: (text: string, context?: string) => string
  readonly open: (sealed: string, context?: string) => string | undefined
  /** The same for bytes. */
  readonly sealBytes: (bytes: Uint8Array, context: string) => Buffer
  readonly openBytes: (sealed: Uint8Array, context: string) => Buffer | undefined
  /** A key for another purpose, derived from the current one (HKDF, RFC 5869): it reveals nothing about other keys. */
  readonly deriveKey: (purpose: string) => Buffer
  /** Whether this was sealed with the current key, not the previous one. */
  readonly isCurrent: (sealed: string) => boolean
  /** The names of its keys, the current one first: hashes, which are in sealed text too. */
  readonly keyIds: ReadonlyArray<string>
}

/** The server's sealer, with `SVC_MASTER_KEY`, or with a key of this process. */
export class Sealing extends Context.Service<
  Sealing,
  {
    readonly sealer: Sealer
    /** Whether sealed text can be opened by other nodes and after a restart. */
    readonly isDurable: boolean
  }
>()("weir/store/Sealing") {
  static readonly layer = Layer.effect(
    Sealing,
    Effect.map(WeirConfig, ({ masterKey, masterKeyPrevious }) => ({
      sealer: makeSealer(masterKey && Redacted.value(masterKey), ...previousKeys(masterKeyPrevious)),
      isDurable: masterKey !== undefined,
    })),
  )
}

/**
 * The previous master keys: one in each line, or one in all, because a key may have any characters.
 * @param all as they are configured
 */
export const previousKeys = (all: Redacted.Redacted | undefined): ReadonlyArray<string> => {
  if (all === undefined) return []
  const text = Redacted.value(all)
  const lines = text.split(/\r?\n/).flatMap((line) => line.trim() || [])
  return [...new Set([...lines, text])]
}

interface Key {
  /** Identifies the key in sealed text without revealing it. */
  readonly id: string
  readonly bytes: Buffer
}

const idLength = 8
const ivBytes = 12
const tagBytes = 16

/**
 * @param secret the server's master key, of any length; if absent, a random key of this process
 * @param previous earlier keys, which only open
 */
export const makeSealer = (secret: string | undefined, ...previous: ReadonlyArray<string>): Sealer => {
  const current = makeKey(secret === undefined ? randomBytes(32) : digest(secret))
  const keys = new Map([[current.id, current]])
  for (const each of previous) {
    const key = makeKey(digest(each))
    if (!keys.has(key.id)) keys.set(key.id, key)
  }
  const encrypt = (bytes: Uint8Array, context: string): Buffer => {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv("aes-256-gcm", current.bytes, iv).setAAD(Buffer.from(context))
    const encrypted = cipher.update(bytes)
    cipher.final()
    return Buffer.concat([iv, cipher.getAuthTag(), encrypted])
  }
  const decrypt = (key: Key | undefined, bytes: Uint8Array, context: string): Buffer | undefined => {
    if (key === undefined) return undefined
    try {
      const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, ivBytes))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      const opened = decipher.update(bytes.subarray(ivBytes + tagBytes))
      decipher.final()
      return opened
    } catch {
      return undefined
    }
  }
  const keyOf = (sealed: string): Key | undefined => keys.get(sealed.slice(0, sealed.indexOf(".")))

  return {
    deriveKey: (purpose) => Buffer.from(hkdfSync("sha256", current.bytes, "", purpose, 32)),
    keyIds: [...keys.keys()],
    isCurrent: (sealed) => keyOf(sealed) === current,
    seal: (text, context = "") => `${current.id}.${encrypt(Buffer.from(text), context).toString("base64")}`,
    open: (sealed, context = "") => {
      const bytes = Buffer.from(sealed.slice(sealed.indexOf(".") + 1), "base64")
      return decrypt(keyOf(sealed), bytes, context)?.toString("utf8")
    },
    sealBytes: (bytes, context) => Buffer.concat([Buffer.from(current.id, "hex"), encrypt(bytes, context)]),
    openBytes: (sealed, context) => {
      const id = Buffer.from(sealed.subarray(0, idLength / 2)).toString("hex")
      return decrypt(keys.get(id), sealed.subarray(idLength / 2), context)
    },
  }
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest()

const makeKey = (bytes: Buffer): Key => ({
  id: createHash("sha256").update(bytes).digest("hex").slice(0, idLength),
  bytes,
})
