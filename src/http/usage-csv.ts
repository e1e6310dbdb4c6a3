/** Usage records as a table in text, streamed page by page. Source: RFC 4180; OWASP "CSV Injection". */
import { Effect, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../calls/calls.ts"
import type { Statements } from "../money/statements.ts"
import { type UsageStatement, usageStatementFields } from "../protocol/control/statement.ts"
import { tagsText } from "../protocol/values/tags.ts"

type Row = UsageStatement["data"][number]

/** Columns of the first release; fields that came later follow. */
const firstColumns = [
  "at",
  "requestId",
  "appId",
  "keyId",
  "sessionId",
  "purpose",
  "source",
  "model",
  "inTokens",
  "outTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "stop",
  "estimatedReason",
  "cost",
  "cacheNetSaving",
  "currency",
] as const satisfies ReadonlyArray<keyof Row>

/** Values that are one cell each: counts by dimension are not; tags are one text. */
const isCell = (field: keyof Row): field is Exclude<keyof Row, "dims"> => field !== "dims"
const columns = [...new Set([...firstColumns, ...usageStatementFields.filter(isCell)])]

/** All records of an organisation that are kept, newest first. The first page is read before the reply begins. */
export const usageCsv = Effect.fnUntraced(function* (statements: Statements["Service"], org: string) {
  const first = yield* statements.usage(org, { limit: pageRows, cursor: undefined })
  const rest = Stream.paginate(first.nextCursor, (cursor) =>
    cursor === null
      ? Effect.succeed([[], Option.none<string | null>()] as const)
      : Effect.map(
          statements.usage(org, { limit: pageRows, cursor }),
          ({ data, nextCursor }) => [[linesOf(data)], Option.fromNullishOr(nextCursor)] as const,
        ),
  )
  const lines = Stream.concat(Stream.make(`${columns.join()}\r\n${linesOf(first.data)}`), rest)
  return HttpServerResponse.stream(Stream.encodeText(lines), {
    contentType: "text/csv; charset=utf-8",
    headers: {
      "x-svc-request-id": newRequestId(),
      "cache-control": "no-store",
      "content-disposition": `attachment; filename="usage.csv"`,
    },
  })
})

const pageRows = 1000

const linesOf = (rows: ReadonlyArray<Row>): string =>
  rows.map((row) => `${columns.map((name) => cell(textOf(row[name]))).join()}\r\n`).join("")

const textOf = (value: Row[keyof Row]): string | number => {
  if (isHits(value)) return value.map(({ policy, at, did, count }) => `${policy} ${at} ${did} ${count}`).join("; ")
  return typeof value === "object" ? tagsText(valuesOf(value)) : (value ?? "")
}

const isHits = (value: Row[keyof Row]): value is NonNullable<Row["policies"]> => Array.isArray(value)

const valuesOf = (value: object): Record<string, string> =>
  Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)]))

/** Spreadsheets would run a text that begins like a formula. */
const cell = (value: string | number): string => {
  if (typeof value === "number" || /^-?\d+(\.\d+)?$/.test(value)) return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
