/**
 * The id of a response that is kept: it contains the day on which it was made, so that it is found in the partition of that
 * day alone.
 */
import { dateOf } from "../protocol/values/instant.ts"

const dayMs = 86_400_000
/** A day as the number of days since 1970, to base 36. */
const dayLength = 4

/** @param requestId the gateway's own id of the call */
export const keptResponseId = (requestId: string, nowMs: number): string =>
  `resp_${requestId.slice("req_".length)}${Math.floor(nowMs / dayMs)
    .toString(36)
    .padStart(dayLength, "0")}`

/** The gateway's request id of the call that made a response. */
export const requestOfResponse = (id: string): string => `req_${id.slice("resp_".length, -dayLength)}`

const form = /^resp_[\w-]{16}([0-9a-z]{4})$/

/** The day (UTC) of a response's id, `2026-11-29`; undefined if it is no id of a kept response. */
export const dayOfResponse = (id: string): string | undefined => {
  const [, day] = form.exec(id) ?? []
  return day === undefined ? undefined : dateOf(Number.parseInt(day, 36) * dayMs)
}
