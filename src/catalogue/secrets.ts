/** Resolves secret references of a catalogue: `env:NAME` and `file:PATH`. */
import { hash, randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { Context } from "effect"

/** Resolves a reference; undefined if there is no secret. A Context.Reference, so that tests can replace it. */
export const ResolveSecret = Context.Reference<(ref: string) => string | undefined>("weir/catalogue/ResolveSecret", {
  defaultValue: () => resolveFromMachine,
})

/** From this process's environment, or from a file. */
export function resolveFromMachine(ref: string): string | undefined {
  if (ref.startsWith("env:")) return process.env[ref.slice("env:".length)] || undefined
  try {
    return readFileSync(ref.slice("file:".length), "utf8").trim() || undefined
  } catch {
    return undefined
  }
}

/** A new secret of 256 random bits. */
export const mintSecret = (prefix: string): string => `${prefix}_${randomBytes(32).toString("base64url")}`

/** The raw SHA-256 digest of a secret: only this is stored. */
export const sha256 = (secret: string): Buffer => hash("sha256", secret, "buffer")
