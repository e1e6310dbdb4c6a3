/** Filters of operators for what clients keep here: by its owner, and by its age. */
import { Effect, Schema } from "effect"
import type { OwnerFilter } from "../protocol/control/owner.ts"
import { serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { parseInstant } from "../protocol/values/instant.ts"
import { storedName } from "../protocol/values/text.ts"
import type { Tenants } from "../tenants/tenants.ts"
import { knownOrg } from "./operator.ts"

const isName = Schema.is(storedName(256))

export const ownerFilterOf = Effect.fnUntraced(function* ({ app, endUser, before }: OwnerFilter) {
  for (const [path, text] of Object.entries({ app, endUser })) {
    if (text !== undefined && !isName(text)) {
      return yield* invalidInput([{ path, message: "1 to 256 characters without control characters are required" }])
    }
  }
  const beforeMs = before === undefined ? undefined : parseInstant(before)
  if (before !== undefined && beforeMs === undefined) {
    return yield* invalidInput([{ path: "before", message: "a date or an instant is required" }])
  }
  return { app, endUser, before: beforeMs === undefined ? undefined : new Date(beforeMs).toISOString() }
})

/**
 * An application that was removed is known while something of it is kept.
 * @param isKept whether something of the application is there
 */
export const knownOwner = Effect.fnUntraced(function* <E>(
  tenants: Tenants["Service"],
  org: string,
  { app }: OwnerFilter,
  isKept: (app: string) => Effect.Effect<boolean, E>,
) {
  yield* knownOrg(tenants, org)
  if (app === undefined || (yield* tenants.app(app))?.app.org === org || (yield* isKept(app))) return
  return yield* serviceError("not_found", `There is no application ${app}`)
})

/** Either a filter, or `all`: nobody erases all for want of a filter. */
export const meantOf = Effect.fnUntraced(function* ({ all, ...query }: OwnerFilter & { readonly all?: string }) {
  const filter = yield* ownerFilterOf(query)
  const isAll = all === "true"
  if (isAll === Object.values(filter).some((value) => value !== undefined)) {
    return yield* invalidInput([
      { path: "all", message: isAll ? "has no filter beside it" : "is required without a filter" },
    ])
  }
  return filter
})
