/** The page of a list: `limit` and `cursor`. */
import { Effect, Schema } from "effect"
import type { Page } from "../money/statements.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/issues.ts"

const defaultLimit = 50

const Limit = Schema.FiniteFromString.pipe(
  Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))),
)
const decodeLimit = Schema.decodeUnknownEffect(Limit)

export interface PageQuery {
  readonly limit?: string
  readonly cursor?: string
}

export const pageOf = ({ limit, cursor }: PageQuery): Effect.Effect<Page, ServiceError<"bad_request">> =>
  limit === undefined
    ? Effect.succeed({ limit: defaultLimit, cursor })
    : decodeLimit(limit).pipe(
        Effect.mapError(() => wrongLimit),
        Effect.map((read) => ({ limit: read, cursor })),
      )

const wrongLimit = invalidInput([{ path: "limit", message: "an integer from 1 to 200 is required" }])
