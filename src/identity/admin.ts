/**
 * Secrets of the operator, known by their hashes: the admin key, and the token of scrapers, which may only look.
 */
import { timingSafeEqual } from "node:crypto"
import { Context, Effect } from "effect"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { sha256 } from "../secrets.ts"

export class AdminKey extends Context.Service<
  AdminKey,
  {
    /** Requires the admin key. Fails if none is configured. */
    readonly check: (given: string | undefined) => Effect.Effect<void, ServiceError<"admin_key_invalid">>
    /** A value that changes with the admin key and reveals nothing of it; undefined if no key is configured. */
    readonly generation: () => string | undefined
  }
>()("weir/identity/AdminKey") {}

/** @param hash the SHA-256 of the key, in hex, at each check */
export const makeAdminKey = (hash: () => string | undefined): AdminKey["Service"] =>
  AdminKey.of({
    check: (given) =>
      hasDigest(given, hash())
        ? Effect.void
        : Effect.fail(serviceError("admin_key_invalid", "The admin key is not valid")),
    generation: () => {
      const digest = hash()
      return digest === undefined ? undefined : sha256(digest).toString("hex").slice(0, 16)
    },
  })

/** Whether a secret is the one with this SHA-256, in hex; compared in constant time. */
export const hasDigest = (given: string | undefined, digest: string | undefined): boolean => {
  const expected = Buffer.from(digest ?? "", "hex")
  return given !== undefined && expected.length === 32 && timingSafeEqual(sha256(given), expected)
}
