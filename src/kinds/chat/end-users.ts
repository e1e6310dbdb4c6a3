/** Ids of a client's own users, as a vendor gets them. */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import type { PromptParams } from "./prompt.ts"

/**
 * @param orgId users of two organisations are different, even if their ids are equal
 * @param masterKey without one there are no hashes, and no id is sent
 * @returns the replacement of each id at a vendor; undefined if there are none
 */
export const endUsersOf = (
  ids: ReadonlyArray<string> | undefined,
  orgId: string,
  masterKey: Redacted.Redacted | undefined,
): ((vendor: Pick<Vendor, "endUser">) => PromptParams["endUsers"]) | undefined => {
  if (ids === undefined || ids.length === 0) return undefined
  const hashOf = (id: string): string =>
    masterKey === undefined
      ? ""
      : createHmac("sha256", Redacted.value(masterKey))
          .update(JSON.stringify(["weir.end-user", orgId, id]))
          .digest("base64url")
  return ({ endUser = "hash" }) => {
    if (endUser === "carry") return undefined
    return Object.fromEntries(ids.map((id) => [id, endUser === "drop" ? "" : hashOf(id)]))
  }
}
