/** The page of a list (`limit` and `cursor`), and the filters of the list. */
import { Effect, Schema } from "effect"
import type { Page } from "../money/statements.ts"
import { TenantStatus } from "../protocol/control/tenants.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { storedName } from "../protocol/values/text.ts"
import type { Search } from "../tenants/directory.ts"

export interface PageQuery {
  readonly limit?: string
  readonly cursor?: string
}

/** Reads `limit` and `cursor`. */
const pageReader = (most: number, otherwise: number) => {
  const Limit = Schema.FiniteFromString.pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: most }))),
  )
  const decodeLimit = Schema.decodeUnknownEffect(Limit)
  const wrongLimit = invalidInput([{ path: "limit", message: `an integer from 1 to ${most} is required` }])
  return ({ limit, cursor }: PageQuery): Effect.Effect<Page, ServiceError<"bad_request">> =>
    limit === undefined
      ? Effect.succeed({ limit: otherwise, cursor })
      : decodeLimit(limit).pipe(
          Effect.mapError(() => wrongLimit),
          Effect.map((read) => ({ limit: read, cursor })),
        )
}

/** The page of a list. */
export const pageOf = pageReader(200, 50)
/** The part of a log that a call verifies. */
export const partOf = pageReader(100_000, 100_000)

/** The query of a list of tenants. */
export interface ListQuery extends PageQuery {
  readonly org?: string
  readonly search?: string
  readonly status?: string
}

export const searchOf = Effect.fnUntraced(function* (
  query: ListQuery,
): Effect.fn.Return<Search, ServiceError<"bad_request">> {
  const { org, search, status } = query
  const page = yield* pageOf(query)
  for (const [path, text] of Object.entries({ org, search })) {
    if (text !== undefined && !isName(text)) {
      return yield* invalidInput([{ path, message: "1 to 256 characters without control characters are required" }])
    }
  }
  if (status !== undefined && !isStatus(status)) {
    return yield* invalidInput([{ path: "status", message: "active, disabled or closed is required" }])
  }
  return { ...page, org, search, status }
})

const isName = Schema.is(storedName(256))
const isStatus = Schema.is(TenantStatus)
