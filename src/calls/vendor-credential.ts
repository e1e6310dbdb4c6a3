/** What a call shows to a vendor that asks for a credential, and what it says if the gateway has none. */
import { Effect, Redacted } from "effect"
import type { CallTarget } from "../catalogue/snapshot.ts"
import { IdentityFailed, type OutgoingRequest } from "../identities/identity.ts"
import type { VendorClient } from "../upstream/client.ts"
import { missingCode, VendorRejected } from "./vendor-errors.ts"

export const credentialMissing = new VendorRejected({ status: 401, code: missingCode, blame: "credential" })

/** Whether a target needs a credential and has none. */
export const lacksCredential = ({ vendor, credential, identity, isOwn }: CallTarget): boolean => {
  const needsOne =
    isOwn || [vendor.credential, vendor.aws, vendor.google, vendor.azure].some((way) => way !== undefined)
  return needsOne && credential === undefined && identity === undefined
}

/** The headers that carry a target's credential or identity; fails with why there is no identity now. */
export const authorizationOf = (
  client: VendorClient["Service"],
  { vendor, dialect, credential, identity, network, isGuarded }: CallTarget,
  { path, body }: Pick<OutgoingRequest, "path" | "body">,
): Effect.Effect<Readonly<Record<string, string>>, unknown> =>
  identity === undefined
    ? Effect.succeed(credential === undefined ? {} : dialect.authorize(Redacted.value(credential)))
    : Effect.tryPromise({
        try: () => identity.authorize({ baseUrl: vendor.baseUrl, path, body }, { client, network, isGuarded }),
        catch: (cause) => cause,
      })

/** What is wrong is for operators: the log and the check of a vendor tell it. */
export const withoutIdentity = (cause: unknown): VendorRejected =>
  cause instanceof IdentityFailed
    ? new VendorRejected({ status: 401, code: missingCode, blame: "credential", reason: cause.sentence })
    : credentialMissing
