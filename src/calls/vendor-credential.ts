/** What a call says if the gateway has nothing to show to a vendor that asks for a credential. */
import type { CallTarget } from "../catalogue/snapshot.ts"
import { IdentityFailed } from "../identities/identity.ts"
import { VendorRejected } from "./vendor-errors.ts"

export const credentialMissing = new VendorRejected({ status: 401, code: "credential_missing" })

/** Whether a target needs a credential and has none. */
export const lacksCredential = ({ vendor, credential, identity, isOwn }: CallTarget): boolean => {
  const needsOne =
    isOwn || [vendor.credential, vendor.aws, vendor.google, vendor.azure].some((way) => way !== undefined)
  return needsOne && credential === undefined && identity === undefined
}

/** What is wrong is for operators: the log and the check of a vendor tell it. */
export const withoutIdentity = (cause: unknown): VendorRejected =>
  cause instanceof IdentityFailed
    ? new VendorRejected({ status: 401, code: "credential_missing", reason: cause.sentence })
    : credentialMissing
