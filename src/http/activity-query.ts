/** The queries of usage over time, exchanges and audit entries. */
import { Clock, Effect, Option, Schema } from "effect"
import type { LogFilter } from "../money/exchange-log.ts"
import { startOfDate } from "../money/periods.ts"
import type { SummaryQuery } from "../money/usage-summary.ts"
import { SummaryDimension } from "../protocol/control/usage-summary.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { cursorOf, cursorReader } from "../protocol/values/cursor.ts"
import { Instant, parseInstant } from "../protocol/values/instant.ts"
import { isTagScope, Tags, tagsInHeader } from "../protocol/values/tags.ts"
import { storedName } from "../protocol/values/text.ts"
import type { AuditEntry, AuditLog } from "../store/audit-log.ts"
import { type PageQuery, pageOf } from "./page-query.ts"

type Query = Readonly<Record<string, string | undefined>>
type Bad = ServiceError<"bad_request">

const dayMs = 86_400_000
const mostDays = 400

/** A period: the day before now, if the query names none. */
const periodOf = Effect.fnUntraced(function* (
  query: Query,
  zone: string | undefined,
): Effect.fn.Return<{ readonly fromMs: number; readonly toMs: number }, Bad> {
  const nowMs = yield* Clock.currentTimeMillis
  const toMs = (yield* instantOf(query, "to", zone)) ?? nowMs
  const fromMs = (yield* instantOf(query, "from", zone)) ?? toMs - dayMs
  if (fromMs >= toMs) return yield* invalidInput([{ path: "from", message: "must be before `to`" }])
  if (toMs - fromMs > mostDays * dayMs) {
    return yield* invalidInput([{ path: "from", message: `at most ${mostDays} days before \`to\`` }])
  }
  return { fromMs, toMs }
})

const isInstant = Schema.is(Instant)

/** @param zone the zone of a date without a time; UTC if absent */
const instantOf = (query: Query, path: string, zone?: string): Effect.Effect<number | undefined, Bad> => {
  const text = query[path]
  if (text === undefined) return Effect.undefined
  return isInstant(text)
    ? Effect.succeed(zone !== undefined && isDate(text) ? startOfDate(text, zone) : parseInstant(text))
    : Effect.fail(invalidInput([{ path, message: "a date or an instant is required" }]))
}

const isDate = (text: string): boolean => text.length === "2026-11-21".length

const isName = Schema.is(storedName(256))

/** The values of a query with these names. */
const namesOf = <Name extends string>(query: Query, names: ReadonlyArray<Name>) =>
  Effect.gen(function* () {
    const values: { [name in Name]?: string } = {}
    for (const name of names) {
      const value = query[name]
      if (value === undefined) continue
      if (!isName(value)) {
        return yield* invalidInput([
          { path: name, message: "1 to 256 characters without control characters are required" },
        ])
      }
      values[name] = value
    }
    return values
  })

const readTags = Schema.decodeUnknownOption(Tags)

/** The tags of a query: `tags=feature=rank,team=search`. */
const tagsOf = ({ tags }: Query): Effect.Effect<Tags | undefined, Bad> => {
  if (tags === undefined) return Effect.undefined
  return Option.match(readTags(tagsInHeader(tags)), {
    onNone: () =>
      Effect.fail(invalidInput([{ path: "tags", message: "tags such as feature=rank,team=search are required" }])),
    onSome: Effect.succeed,
  })
}

const isDimension = Schema.is(SummaryDimension)

/** @param zone the zone of the organisation that is asked about */
export const summaryQueryOf = Effect.fnUntraced(function* (
  query: Query,
  zone?: string,
): Effect.fn.Return<SummaryQuery, Bad> {
  const { by = "model" } = query
  if (!isDimension(by) && !isTagScope(by)) {
    const known = SummaryDimension.literals.join(", ")
    return yield* invalidInput([{ path: "by", message: `${known} and tags such as tag:feature are possible` }])
  }
  const only = yield* namesOf(query, SummaryDimension.literals)
  const tags = yield* tagsOf(query)
  return { ...(yield* periodOf(query, zone)), zone, by, only, ...(tags !== undefined && { tags }) }
})

const filters = ["org", "app", "key", "model", "vendor", "stop", "code", "purpose", "session", "request"] as const

/** @param zone the zone of the organisation that is asked about */
export const logFilterOf = Effect.fnUntraced(function* (query: Query, zone?: string): Effect.fn.Return<LogFilter, Bad> {
  const { estimated } = query
  if (estimated !== undefined && estimated !== "true" && estimated !== "false") {
    return yield* invalidInput([{ path: "estimated", message: "true or false is required" }])
  }
  const named = yield* namesOf(query, filters)
  const tags = yield* tagsOf(query)
  return {
    ...(tags !== undefined && { tags }),
    ...(yield* periodOf(query, zone)),
    ...named,
    ...(estimated !== undefined && { estimated: estimated === "true" }),
  }
})

/** The time when an exchange ended. */
export const endOf = Effect.fnUntraced(function* (query: Query): Effect.fn.Return<number, Bad> {
  const atMs = yield* instantOf(query, "at")
  return atMs ?? (yield* invalidInput([{ path: "at", message: "is required: the time in the list" }]))
})

/** A page of audit entries. @param org returns only this organisation's */
export const auditPage = Effect.fnUntraced(function* (
  log: AuditLog["Service"],
  query: Query & PageQuery,
  org?: string | undefined,
) {
  const { limit, cursor } = yield* pageOf(query)
  const named = yield* namesOf(query, ["action", "actor"])
  const [before] = yield* numberOf(cursor)
  const entries = yield* log.list({ ...named, org }, limit + 1, BigInt(before))
  return numberedPage<AuditEntry>(entries, limit, ({ id }) => id)
})

/** A page of rows that are numbered, the highest first. */
export const numberedPage = <A>(rows: ReadonlyArray<A>, limit: number, number: (row: A) => string) => {
  const data = rows.slice(0, limit)
  const last = rows.length > limit ? data.at(-1) : undefined
  return { data, nextCursor: last === undefined ? null : cursorOf([number(last)]) }
}

/** The number before which a page begins. */
export const numberOf = cursorReader(Schema.Tuple([Schema.String.check(Schema.isPattern(/^\d{1,18}$/))]), [
  "999999999999999999",
])
