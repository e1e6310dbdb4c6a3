/** The tags of a call: those of its request, and those that its application sets, which its callers cannot change. Pure. */
import { Result } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { type Tags, tagOf } from "../protocol/values/tags.ts"

/** The caller with the tags of one call; refused if a required one is missing, or if one that is set has another value. */
export const withTags = (
  caller: Caller,
  asked: Tags | undefined,
): Result.Result<Caller, ServiceError<"bad_request">> => {
  const { tags: set, requiredTags = none } = caller.app ?? {}
  if (asked === undefined && set === undefined && requiredTags.length === 0) return Result.succeed(caller)
  for (const [name, value] of Object.entries(set ?? {})) {
    const other = asked && tagOf(asked, name)
    if (other !== undefined && other !== value) {
      return refused(name, `the application sets it to ${JSON.stringify(value)}`)
    }
  }
  const tags = { ...asked, ...set }
  const missing = requiredTags.find((name) => tagOf(tags, name) === undefined)
  if (missing !== undefined) return refused(missing, "the application requires this tag")
  return Result.succeed({ ...caller, tags })
}

const none: ReadonlyArray<never> = []

const refused = (name: string, message: string) => Result.fail(invalidInput([{ path: `meta.tags.${name}`, message }]))
