/** Resolves secret references of a catalogue that the machine has: `env:NAME` and `file:PATH`. */
import { hash, randomBytes } from "node:crypto"
import { Context } from "effect"
import { secretInFile, secretInVariable } from "./secret-files.ts"

/** Resolves a reference; undefined if there is no secret. A Context.Reference, so that tests can replace it. */
export const ResolveSecret = Context.Reference<(ref: string) => string | undefined>("weir/catalogue/ResolveSecret", {
  defaultValue: () => resolveFromMachine,
})

/** Reads this process's environment (`env:NAME`, also by `NAME_FILE`), or a file, but no store. */
export function resolveFromMachine(ref: string): string | undefined {
  if (ref.startsWith("env:")) return secretInVariable(ref.slice("env:".length))
  return ref.startsWith("file:") ? secretInFile(ref.slice("file:".length)) : undefined
}

export type ResolveRef = (ref: string) => string | undefined

/** Remembers the values of references, to notice when a value changes: a file was replaced. */
export const rememberSecrets = (resolve: ResolveRef) => {
  const found = new Map<string, string | undefined>()
  return {
    resolve: (ref: string): string | undefined => {
      const secret = resolve(ref)
      found.set(ref, secret)
      return secret
    },
    /** A secret that has disappeared is no change: its file is being replaced, or calls go on with the old one. */
    haveChanged: (): boolean =>
      [...found].some(([ref, secret]) => {
        const now = resolve(ref)
        return now !== undefined && now !== secret
      }),
  }
}

/** A new secret of 256 random bits. */
export const mintSecret = (prefix: string): string => `${prefix}_${randomBytes(32).toString("base64url")}`

/** The raw SHA-256 digest of a secret: only this is stored. */
export const sha256 = (secret: string): Buffer => hash("sha256", secret, "buffer")
