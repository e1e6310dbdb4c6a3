/** Warnings of policies that are well formed, and hold streams back for long. Pure. */
import { Result } from "effect"
import { waitOf } from "../policies/describe.ts"
import { compilePolicy } from "../policies/policy.ts"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"

/** @returns a sentence for each policy on streams whose matches have no longest length */
export const policyWarnings = ({ policies = [] }: PlatformDocument): ReadonlyArray<string> =>
  policies.flatMap((policy) => {
    const compiled = Result.getOrUndefined(compilePolicy(policy, () => undefined))
    return compiled !== undefined && waitOf(compiled)?.until === "match"
      ? [`policies/${policy.id}: its matches have no longest length; a stream waits from where one begins`]
      : []
  })
