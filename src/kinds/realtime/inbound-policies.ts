/** The inbound policies of a session, for the typed and spoken words of its client. */
import type { ReviewPolicy } from "../../policies/policy.ts"

/** Rules mask events when they are read, and cannot mask sound. An engine does not mask here: words that it flags are denied. */
export const withoutMasks = (inbound: ReadonlyArray<ReviewPolicy>): ReadonlyArray<ReviewPolicy> =>
  inbound.flatMap((policy): ReadonlyArray<ReviewPolicy> => {
    if (policy.action !== "mask") return [policy]
    return policy.check.kind === "rules" ? [] : [{ ...policy, action: "deny" }]
  })
