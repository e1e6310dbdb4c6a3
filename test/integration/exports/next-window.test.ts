/** The end of a window: before records that may still come, and not too far ahead if the export has fallen behind. */
import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { closedMark } from "../../../src/exports/closed-mark.ts"
import type { Position } from "../../../src/exports/export-store.ts"
import { nextWindow } from "../../../src/exports/next-window.ts"
import { readWindow, type Window } from "../../../src/exports/window-rows.ts"
import type { Shard } from "../../../src/store/shards/shard.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { layerTestDatabase } from "../../support/books.ts"

const org = `org_${randomUUID().slice(0, 8)}`
const minuteMs = 60_000

/** @param place the next one, if there is none */
const addRecord = (ref: string, at: Date, place?: bigint | null) =>
  Effect.flatMap(Shards, (shards) =>
    shards.of(org).run(
      ({ sql, books }) => sql`
        insert into ${books}usage_records (ref, at, org_id, app_id, key_id, request_id, purpose, model, vendor, in_tokens, out_tokens,
          cache_read_tokens, cache_write_tokens, dims, stop, cost, cache_net_saving, currency, place)
        values (${ref}, ${at}, ${org}, 'app', 'key', ${ref}, 'exchange', 'main', 'vendor', 1, 1, 0, 0, '{}', 'end', 0, 0, 'USD',
          case when ${place === undefined}::boolean then ${books}next_transfer_id() else ${place == null ? null : String(place)}::text::bigint end)`,
    ),
  )

const positionAt = (shard: Shard, place: bigint, at: Date): Position => ({
  ...{ export: "e", records: "usage", shard: shard.name, place, at },
  ...{ started_place: 0n, started_at: new Date(0), is_active: true, failures: 0, problem: null },
})

/** The request ids of a window's records. */
const refsIn = Effect.fnUntraced(function* (shard: Shard, window: Window) {
  const found: Array<unknown> = []
  const read = (rows: ReadonlyArray<ReadonlyArray<unknown>>) =>
    Effect.sync(() => {
      found.push(...rows.map((row) => row[3]))
    })
  yield* shard.run((client) => readWindow(client, "usage", window, read))
  return found
})

layer(layerTestDatabase, { excludeTestServices: true })("a window", (it) => {
  it.effect("is not closed while a transaction runs that has taken a lower place", () =>
    Effect.gen(function* () {
      const shard = (yield* Shards).of(org)
      const [taken, over] = [yield* Deferred.make<bigint>(), yield* Deferred.make<void>()]
      const running = yield* Effect.forkChild(
        shard.run(({ sql, books }) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`select pg_current_xact_id()::text`
              const [row] = yield* sql<{ place: bigint }>`select ${books}next_transfer_id() as place`
              yield* Deferred.succeed(taken, row?.place ?? 0n)
              yield* Deferred.await(over)
            }),
          ),
        ),
      )
      const place = yield* Deferred.await(taken)
      const closing = yield* Effect.forkChild(closedMark("usage", shard))
      yield* Effect.sleep("400 millis")
      expect(closing.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(over, undefined)
      yield* Fiber.join(running)
      const mark = yield* Fiber.join(closing)
      expect(BigInt(mark.place)).toBeGreaterThan(BigInt(place))
    }),
  )

  it.effect("of an hour before the export has records from before there were places, and none that came since", () =>
    Effect.gen(function* () {
      const shard = (yield* Shards).of(org)
      const { place: start } = yield* closedMark("usage", shard)
      const hour = new Date(Math.floor((Date.now() - 7_200_000) / 3_600_000) * 3_600_000)
      yield* addRecord(`none${org}`, new Date(hour.getTime() + 1000), null)
      yield* addRecord(`before${org}`, new Date(hour.getTime() + 2000), BigInt(start) - 1n)
      yield* addRecord(`since${org}`, new Date(hour.getTime() + 3000), BigInt(start) + 1n)
      const window = {
        ...{ name: "before", from_place: 0n, until_place: BigInt(start) },
        ...{ from_at: hour, until_at: new Date(hour.getTime() + 3_600_000), is_hour: true },
      }
      const found = yield* refsIn(shard, window)
      expect(found.sort()).toEqual([`before${org}`, `none${org}`])
    }),
  )

  it.effect("of an export that has fallen behind is as long as windows are, and the next goes on where it ends", () =>
    Effect.gen(function* () {
      const shard = (yield* Shards).of(org)
      const nowMs = Date.now()
      const { place: start } = yield* closedMark("usage", shard)
      for (let minutesAgo = 60; minutesAgo > 0; minutesAgo--) {
        yield* addRecord(`r${minutesAgo}${org}`, new Date(nowMs - minutesAgo * minuteMs))
      }
      const position = positionAt(shard, BigInt(start), new Date(nowMs - 61 * minuteMs))
      const first = yield* nextWindow(position, shard, 5 * minuteMs)
      expect(first).toMatchObject({ isEmpty: false, isCut: true })
      const { until_at: until = new Date(0), until_place: next = 0n } = first?.window ?? {}
      expect((until.getTime() - position.at.getTime()) / minuteMs).toBeCloseTo(5, 0)
      expect(Number(next - position.place)).toBeLessThan(10)
      const second = yield* nextWindow({ ...position, place: next, at: until }, shard, 5 * minuteMs)
      expect(second?.window).toMatchObject({ from_place: next, from_at: until })
    }),
  )

  it.effect("is cut where there are too many records, and the windows have each of them once", () =>
    Effect.gen(function* () {
      const shard = (yield* Shards).of(org)
      const nowMs = Date.now()
      const { place: start } = yield* closedMark("usage", shard)
      const refs = Array.from({ length: 60 }, (_, at) => `many${at}${org}`)
      for (const [at, ref] of refs.entries()) yield* addRecord(ref, new Date(nowMs - 30_000 + at * 500))
      let position = positionAt(shard, BigInt(start), new Date(nowMs - 40_000))
      const windows: Array<ReadonlyArray<unknown>> = []
      for (let isCut = true; isCut; ) {
        const next = yield* nextWindow(position, shard, 5 * minuteMs, 10)
        if (next === undefined) break
        windows.push(yield* refsIn(shard, next.window))
        isCut = next.isCut
        position = { ...position, place: next.window.until_place, at: next.window.until_at }
      }
      const found = windows.flat().filter((ref) => String(ref).startsWith("many"))
      expect([...found].sort()).toEqual([...refs].sort())
      // Places that a clock makes are not even.
      expect(windows.length).toBeGreaterThan(3)
    }),
  )
})
