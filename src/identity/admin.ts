/** The admin key: one secret of the operator, stored as its hash. */
import { timingSafeEqual } from "node:crypto"
import { Context, Effect } from "effect"
import { sha256 } from "../catalogue/secrets.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"

export class AdminKey extends Context.Service<
  AdminKey,
  {
    /** Requires the admin key. Fails if none is configured. */
    readonly check: (given: string | undefined) => Effect.Effect<void, ServiceError<"admin_key_invalid">>
  }
>()("weir/identity/AdminKey") {}

/** @param hash the SHA-256 of the key, in hex */
export const makeAdminKey = (hash: string | undefined): AdminKey["Service"] => {
  const expected = hash === undefined ? undefined : Buffer.from(hash, "hex")
  return AdminKey.of({
    check: (given) =>
      given !== undefined && expected !== undefined && timingSafeEqual(sha256(given), expected)
        ? Effect.void
        : Effect.fail(serviceError("admin_key_invalid", "The admin key is not valid")),
  })
}
