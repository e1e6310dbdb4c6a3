/** Cursors of lists: they encode the place of a page's last row, after which the next page begins. */
import { Effect, Option, Schema } from "effect"
import { type ServiceError, serviceError } from "../error.ts"
import { StoredText } from "./text.ts"

export interface Page<A> {
  readonly data: ReadonlyArray<A>
  /** Null on the last page. */
  readonly nextCursor: string | null
}

/**
 * @param rows the rows of the page, and one more if there is another page
 * @param place returns the place after which the next page begins
 */
export const pageOf = <A>(rows: ReadonlyArray<A>, limit: number, place: (row: A) => ReadonlyArray<string>): Page<A> => {
  const data = rows.slice(0, limit)
  const last = rows.length > limit ? data.at(-1) : undefined
  return { data, nextCursor: last === undefined ? null : cursorOf(place(last)) }
}

/** The cursor of a place. */
export const cursorOf = (place: ReadonlyArray<string>): string =>
  Buffer.from(JSON.stringify(place)).toString("base64url")

/** Reads cursors of a kind. @param schema of the place @param first the place before every row */
export const cursorReader = <P>(schema: Schema.Codec<P, unknown>, first: P) => {
  const decode = Schema.decodeUnknownOption(Schema.fromJsonString(schema))
  return (cursor: string | undefined): Effect.Effect<P, ServiceError<"bad_request">> => {
    if (cursor === undefined) return Effect.succeed(first)
    const place = decode(Buffer.from(cursor, "base64url").toString("utf8"))
    return Option.isSome(place)
      ? Effect.succeed(place.value)
      : Effect.fail(serviceError("bad_request", "The cursor is invalid"))
  }
}

/** Reads the place after which a page begins, newest first: a time in microseconds, and an id for rows of the same time. */
export const placeInTime = cursorReader(
  Schema.Tuple([Schema.String.check(Schema.isPattern(/^\d{1,18}$/)), StoredText.check(Schema.isMaxLength(256))]),
  ["999999999999999999", ""],
)
