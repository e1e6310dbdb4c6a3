/**
 * The ring of keys that tokens are signed with: the first one signs, all of them verify, so that keys can be replaced
 * without ending what is in use. Each purpose derives keys of its own. Source: decisions "Runtime routes".
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { sha256 } from "../catalogue/secrets.ts"
import { WeirConfig } from "../config.ts"

export interface RingKey {
  readonly id: string
  /** 32 bytes for one purpose; nothing is learnt from them about those for another. */
  readonly derive: (purpose: string) => Buffer
}

export type Ring = readonly [RingKey, ...Array<RingKey>]

export class KeyRing extends Context.Service<KeyRing, Ring>()("weir/identity/KeyRing") {
  static readonly layer = Layer.effect(KeyRing, Effect.map(WeirConfig, ringOf))
}

/** The keys that are configured; else some made of the master key; else one of this process's own. */
function ringOf({ tokenKeys, masterKey, masterKeyPrevious }: WeirConfig["Service"]): Ring {
  const configured = tokenKeys === undefined ? [] : Redacted.value(tokenKeys).split(",").map(readKey)
  const made = [masterKey, masterKeyPrevious].flatMap((key) =>
    key === undefined ? [] : [makeKey(undefined, Redacted.value(key))],
  )
  const [first = makeKey(undefined, randomBytes(32).toString("hex")), ...rest] =
    configured.length > 0 ? configured : made
  return [first, ...rest]
}

/** `id:secret`. */
const readKey = (text: string): RingKey => {
  const at = text.indexOf(":")
  return makeKey(text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1))
}

/** Without an id, one that tells secrets apart. */
export const makeKey = (id: string | undefined, secret: string): RingKey => ({
  id: id || sha256(secret).toString("hex").slice(0, 8),
  derive: (purpose) => sha256(`weir.${purpose} ${secret}`),
})
