/** The next window of an export: up to now, or, if that has too many records, up to a record in between. */
import { Effect } from "effect"
import type { Shard } from "../store/shards/shard.ts"
import { closedMark } from "./closed-mark.ts"
import type { Mark, Position } from "./export-store.ts"
import { countWindow, firstRecord, hasRecords, type Window } from "./window-rows.ts"

export interface NextWindow {
  readonly window: Window
  readonly isEmpty: boolean
  /** Whether there is more after it. */
  readonly isCut: boolean
}

/** Records of a window: as many as a thread encodes without much memory. */
const mostRows = 250_000

/**
 * @param everyMs how long a window is, in time, if the export has fallen behind
 * @param most records of a window, nearly
 */
export const nextWindow = Effect.fnUntraced(function* (
  position: Position,
  shard: Shard,
  everyMs: number,
  most = mostRows,
) {
  const { records, place, at } = position
  const mark = yield* closedMark(records, shard)
  if (mark.place <= place) return undefined
  const sizeOf = (end: Mark) => shard.run((client) => countWindow(client, records, windowOf(position, end)))
  const made = (end: Mark) =>
    Effect.map(
      shard.run((client) => hasRecords(client, records, windowOf(position, end))),
      (isEmpty): NextWindow => ({ window: windowOf(position, end), isEmpty: !isEmpty, isCut: end.place < mark.place }),
    )
  const end = yield* endInTime(position, shard, mark, Math.max(everyMs, leastMs))
  // Each record has a place of its own; where the books are spread, places are a clock's.
  if (end.place - place <= most) return yield* made(end)
  const rows = yield* sizeOf(end)
  if (rows <= most) return yield* made(end)
  // Places are given evenly, nearly.
  const middle = place + ((end.place - place) * BigInt(most)) / BigInt(rows)
  const range = { place: middle, from: shifted(at, -3 * nearMs), until: shifted(end.since, 3 * nearMs) }
  const found = yield* shard.run((client) => firstRecord(client, records, range))
  const isBetween = found !== undefined && found.place < end.place && found.place > place
  return yield* made(isBetween ? endBefore(found, at) : end)
})

/** The greatest difference between a record's time and the time when it was written. */
const nearMs = 15_000
/** The minimum length of a window that does not reach to now: longer than its end is uncertain. */
const leastMs = 3 * nearMs

const shifted = (at: Date, ms: number): Date => new Date(at.getTime() + ms)

/** The end before a record. Records whose place is not lower were written at most shortly before the record's time. */
const endBefore = ({ place, at }: { readonly place: bigint; readonly at: Date }, from: Date): Mark => ({
  place,
  since: new Date(Math.max(from.getTime(), at.getTime() - nearMs)),
})

/** The mark, or the first record that was written some time after the position. */
const endInTime = Effect.fnUntraced(function* ({ records, place, at }: Position, shard: Shard, mark: Mark, ms: number) {
  if (mark.since.getTime() - at.getTime() <= 1.5 * ms) return mark
  const from = shifted(at, ms)
  // The search looks soon after, if there are many records; otherwise at any time after.
  for (const until of [shifted(from, 10_000), mark.since]) {
    const found = yield* shard.run((client) => firstRecord(client, records, { place: place + 1n, from, until }))
    if (found !== undefined && found.place < mark.place) return endBefore(found, at)
  }
  return mark
})

const windowOf = ({ place, at }: Position, end: Mark): Window => ({
  name: `${padded(place)}-${padded(end.place)}`,
  from_place: place,
  until_place: end.place,
  from_at: at,
  until_at: end.since,
  is_hour: false,
})

/** Names are in the order of places. */
const padded = (place: bigint): string => String(place).padStart(19, "0")
