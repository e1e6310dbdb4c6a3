/**
 * Exports: records are written to files, each to exactly one. A node closes a window of records, writes its files, and then
 * moves the position over it; if it dies in between, another writes the same files again. Any node does it.
 */
import { randomUUID } from "node:crypto"
import { Cause, Context, Effect, Layer } from "effect"
import { runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { ExportPlace } from "../catalogue/snapshot.ts"
import { targetOf } from "../object-storage/target.ts"
import type { ExportEntry, ExportFill, ExportProgress, ExportRecords } from "../protocol/control/export.ts"
import { LongQueries } from "../store/connections.ts"
import { type Shard, wholeShard } from "../store/shards/shard.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { exportLagSeries, recordExported, recordExportFailure } from "../telemetry/metrics.ts"
import { VendorClient } from "../upstream/client.ts"
import { closedMark } from "./closed-mark.ts"
import { ExportStore, type OpenWindow, type Position, type PositionName } from "./export-store.ts"
import { leased } from "./leased.ts"
import { nextWindow } from "./next-window.ts"
import { writeWindow } from "./write-window.ts"

/** The interval at which a node looks for windows that are due. */
const lookEvery = "1 second"
/** Windows that a node writes at once. */
const mostAtOnce = 2
/** The time in which a window must be written, and closed: a transaction that has not ended keeps it open. */
const longestWindow = "15 minutes"
const longestClose = "1 minute"
const defaultBuckets = 16

export class Exports extends Context.Service<
  Exports,
  {
    /** The exports of the catalogue, and their positions. */
    readonly list: Effect.Effect<ReadonlyArray<ExportEntry>, StoreUnavailable>
    /**
     * Marks the files of a period to be written again, and those of hours before the export was started. Undefined if there
     * is none.
     */
    readonly fill: (
      id: string,
      period: { readonly from: Date; readonly until: Date },
    ) => Effect.Effect<ExportFill | undefined, StoreUnavailable>
  }
>()("weir/exports/Exports") {
  static readonly layer = Layer.effect(
    Exports,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const store = yield* ExportStore
      const client = yield* VendorClient
      const { sql: coordinator, shards } = yield* LongQueries
      const context = yield* Effect.context<LongQueries>()
      const scope = yield* Effect.scope
      const node = randomUUID()
      let writing = 0

      /** The log of the audit is in one place. */
      const whole = wholeShard(coordinator)
      const shardsOf = (records: ExportRecords): ReadonlyArray<Shard> => (records === "audit" ? [whole] : shards.all)
      const places = () => catalogue.current().exports
      const placeOf = (id: string) => places().find(({ entry }) => entry.id === id)

      /**
       * Begins new exports, and records which exist. If the books were spread over shards in the meantime, each shard
       * continues from the position of the whole.
       */
      const begin = Effect.fnUntraced(function* (known: ReadonlyArray<Position>) {
        const positions = new Map(known.map((position) => [keyOf(position), position]))
        for (const { entry } of places()) {
          for (const records of entry.records ?? ["usage"]) {
            const parts = shardsOf(records)
            const before = positions.get(keyOf({ export: entry.id, records, shard: whole.name }))
            const isSpread = !parts.some(({ name }) => name === whole.name)
            for (const shard of parts) {
              const name = { export: entry.id, records, shard: shard.name }
              if (positions.has(keyOf(name))) continue
              if (isSpread && before !== undefined) yield* store.goOn(name, before)
              else yield* store.start(name, yield* closedMark(records, shard))
            }
            if (isSpread && before !== undefined) yield* store.forget(before)
          }
        }
        const ids = places().map(({ entry }) => entry.id)
        if (known.some((position) => position.is_active !== ids.includes(position.export))) yield* store.setActive(ids)
      })

      const write = Effect.fnUntraced(function* (
        position: Position,
        place: ExportPlace,
        shard: Shard,
        window: OpenWindow,
      ) {
        const { buckets = defaultBuckets } = place.entry
        const landed = yield* Effect.timeout(
          writeWindow(position, window, shard, targetOf(place, client), buckets),
          longestWindow,
        )
        yield* store.land(position, window, landed)
        recordExported(context, position.export, position.records, landed)
      })

      /** Writes the closed window, then closes and writes a new one. */
      const advance = Effect.fnUntraced(function* (position: Position, place: ExportPlace) {
        const { format, every } = place.entry
        const shard = shardsOf(position.records).find(({ name }) => name === position.shard)
        if (shard === undefined) return
        let at = position
        while (true) {
          const open = yield* store.open(position)
          if (open !== undefined) {
            yield* write(at, place, shard, open)
            if (open.is_hour || open.from_place !== at.place) continue
            at = { ...at, place: open.until_place, at: open.until_at }
          }
          const next = yield* Effect.timeout(nextWindow(at, shard, every), longestClose)
          if (next === undefined) return
          if (next.isEmpty) yield* store.skip(at, next.window)
          else {
            yield* store.close(at, next.window, format)
            yield* write(at, place, shard, { ...next.window, format })
          }
          if (!next.isCut) return
          at = { ...at, place: next.window.until_place, at: next.window.until_at }
        }
      })

      const run = (position: Position, place: ExportPlace) =>
        leased(store, node, position, {
          work: advance(position, place),
          everyMs: place.entry.every,
          what: "A window of an export was not written, and will be again",
          onFailure: () => recordExportFailure(context, position.export, position.records),
        })

      const takeDue = Effect.gen(function* () {
        const ids = places().map(({ entry }) => entry.id)
        while (writing < mostAtOnce) {
          const position = yield* store.take(ids, node)
          const place = position && placeOf(position.export)
          if (position === undefined || place === undefined) return
          writing += 1
          yield* run(position, place).pipe(
            Effect.catchCause((cause) =>
              Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning("An export failed", cause),
            ),
            Effect.ensuring(Effect.sync(() => (writing -= 1))),
            Effect.forkIn(scope),
          )
        }
      })

      const tellLags = yield* exportLagSeries
      const look = Effect.gen(function* () {
        const known = yield* store.positions
        tellLags(lags(known, Date.now()).map(({ name, records, seconds }) => [[name, records], seconds]))
        if (known.length === 0 && places().length === 0) return
        yield* begin(known)
        yield* takeDue
      })
      yield* runEvery(lookEvery, "Exports", Effect.provide(look, context))

      return Exports.of({
        fill: (id, period) => {
          const place = placeOf(id)
          return place === undefined ? Effect.undefined : store.fill(id, period, place.entry.format)
        },
        list: Effect.map(store.positions, (known) =>
          places().map(({ entry: { id, to, format } }) => ({
            id,
            to,
            format,
            progress: known.filter((position) => position.export === id).map(progressOf),
          })),
        ),
      })
    }),
  )
}

const keyOf = ({ export: id, records, shard }: PositionName): string => JSON.stringify([id, records, shard])

const lagOf = ({ at }: Pick<Position, "at">, nowMs = Date.now()): number => Math.max(0, (nowMs - at.getTime()) / 1000)

interface Lag {
  readonly name: string
  readonly records: ExportRecords
  readonly seconds: number
}

/** The time that each export is behind with each kind of records: the time of the shard that is behind most. */
export const lags = (
  positions: ReadonlyArray<Pick<Position, "export" | "records" | "at" | "is_active">>,
  nowMs: number,
): IteratorObject<Lag> => {
  const longest = new Map<string, Lag>()
  for (const { export: name, records, at, is_active } of positions) {
    const seconds = lagOf({ at }, nowMs)
    const key = JSON.stringify([name, records])
    if (is_active && seconds >= (longest.get(key)?.seconds ?? 0)) longest.set(key, { name, records, seconds })
  }
  return longest.values()
}

const progressOf = (position: Position): ExportProgress => ({
  records: position.records,
  shard: position.shard,
  exportedUntil: position.at.toISOString(),
  lagSeconds: lagOf(position),
  failures: position.failures,
  ...(position.problem !== null && { problem: position.problem }),
})
