/** Warnings of policies that are well formed, and hold streams back for long, or not at all. Pure. */
import { Result } from "effect"
import { waitOf } from "../policies/describe.ts"
import { compilePolicy } from "../policies/policy.ts"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"

/** @returns a sentence for each policy on streams whose matches have no longest length, or that reviews no streams */
export const policyWarnings = ({ policies = [] }: PlatformDocument): ReadonlyArray<string> =>
  policies.flatMap((policy) => {
    if (policy.direction === "inbound" && policy.streams !== undefined) {
      return [`policies/${policy.id}: streams has no effect: an inbound policy reviews no replies`]
    }
    const compiled = Result.getOrUndefined(compilePolicy(policy, () => undefined))
    return compiled !== undefined && waitOf(compiled)?.until === "match"
      ? [`policies/${policy.id}: its matches have no longest length; a stream waits from where one begins`]
      : []
  })
