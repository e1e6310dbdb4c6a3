/**
 * The keys that sign tokens: the first one signs, all of them verify, so that keys can be rotated without invalidating
 * tokens. A key is derived for each purpose.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { WeirConfig } from "../config.ts"
import { sha256 } from "../secrets.ts"
import { previousKeys } from "../store/seal.ts"

export interface RingKey {
  readonly id: string
  /** Derives 32 bytes for one purpose; they reveal nothing about other purposes. */
  readonly derive: (purpose: string) => Buffer
}

export type Ring = readonly [RingKey, ...Array<RingKey>]

export class KeyRing extends Context.Service<KeyRing, Ring>()("weir/identity/KeyRing") {
  static readonly layer = Layer.effect(KeyRing, Effect.map(WeirConfig, ringOf))
}

/** The configured keys; otherwise keys derived from the master key; otherwise a random key of this process. */
function ringOf({ tokenKeys, masterKey, masterKeyPrevious }: WeirConfig["Service"]): Ring {
  const configured = tokenKeys === undefined ? [] : Redacted.value(tokenKeys).split(",").map(readKey)
  const secrets = [...(masterKey === undefined ? [] : [Redacted.value(masterKey)]), ...previousKeys(masterKeyPrevious)]
  const made = secrets.map((secret) => makeKey(undefined, secret))
  const [first = makeKey(undefined, randomBytes(32).toString("hex")), ...rest] =
    configured.length > 0 ? configured : made
  return [first, ...rest]
}

/** `id:secret`. */
const readKey = (text: string): RingKey => {
  const at = text.indexOf(":")
  return makeKey(text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1))
}

/** Without an id, a hash prefix that distinguishes secrets. */
export const makeKey = (id: string | undefined, secret: string): RingKey => ({
  id: id || sha256(secret).toString("hex").slice(0, 8),
  derive: (purpose) => sha256(`weir.${purpose} ${secret}`),
})
