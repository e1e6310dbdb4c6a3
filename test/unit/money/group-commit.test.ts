/** Batches: every item gets its row, or an error; one that the database refuses does not take the others with it. */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Option } from "effect"
import { makeGroupCommit } from "../../../src/money/group-commit.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"

interface Row {
  readonly item: number
  readonly name: string
}

const refused = new StoreUnavailable({ store: "postgres", cause: "a wrong item" })
const nameOf = (item: object): string => ("name" in item ? String(item.name) : "")

/** Answers each item with its name, except an item that is left out, or one that is refused with its whole batch. */
const start = (answers: { readonly leftOut?: string; readonly refused?: string }, paceMs?: number) =>
  makeGroupCommit<Row>({
    maxBatch: 100,
    ...(paceMs !== undefined && { paceMs }),
    itemOf: ({ item }) => item,
    isItemFault: (error) => error === refused,
    run: (items) =>
      items.some((item) => nameOf(item) === answers.refused)
        ? Effect.fail(refused)
        : Effect.succeed(
            items.flatMap((item, at) => (nameOf(item) === answers.leftOut ? [] : [{ item: at, name: nameOf(item) }])),
          ),
  })

const sendAll = (send: (item: object) => Effect.Effect<Row, StoreUnavailable>) =>
  Effect.forEach(["a", "b", "c"], (name) => Effect.exit(send({ name })), { concurrency: "unbounded" })

describe("the pace", () => {
  it.live("makes nobody wait who comes alone", () =>
    Effect.gen(function* () {
      const send = yield* start({}, 60_000)
      for (const name of ["a", "b", "c", "d"]) expect(yield* send({ name })).toMatchObject({ name })
    }).pipe(Effect.timeout("10 seconds")),
  )

  it.live("keeps batches apart while many come", () =>
    Effect.gen(function* () {
      const send = yield* start({}, 60_000)
      const many = Array.from({ length: 60 }, (_, at) => `item ${at}`)
      yield* Effect.forEach(many, (name) => send({ name }), { concurrency: "unbounded" })
      expect(yield* Effect.timeoutOption(send({ name: "d" }), "200 millis")).toEqual(Option.none())
    }).pipe(Effect.timeout("10 seconds")),
  )
})

describe("a batch", () => {
  it.live("that has no row for an item fails that item, and no other", () =>
    Effect.gen(function* () {
      const [a, b, c] = yield* sendAll(yield* start({ leftOut: "b" }))
      expect([a, c].map((exit) => exit !== undefined && Exit.isSuccess(exit) && exit.value.name)).toEqual(["a", "c"])
      expect(b !== undefined && Exit.isFailure(b)).toBe(true)
    }).pipe(Effect.timeout("2 seconds")),
  )

  it.live("that is refused for an item is sent again item by item", () =>
    Effect.gen(function* () {
      const [a, b, c] = yield* sendAll(yield* start({ refused: "b" }))
      expect([a, c].map((exit) => exit !== undefined && Exit.isSuccess(exit) && exit.value.name)).toEqual(["a", "c"])
      expect(b).toEqual(Exit.fail(refused))
    }).pipe(Effect.timeout("2 seconds")),
  )
})

describe("items of a lane whose rows are locked", () => {
  const blocked = new StoreUnavailable({ store: "postgres", cause: "a lock", wasDone: false })
  interface Item {
    readonly lane: string
    readonly name: string
  }

  it.live("do not keep the others waiting, and are sent in their order once they get through", () =>
    Effect.gen(function* () {
      let isLocked = true
      const sent: Array<string> = []
      let open = () => {}
      const opened = new Promise<void>((resolve) => {
        open = () => {
          isLocked = false
          resolve()
        }
      })
      const send = yield* makeGroupCommit<Row, Item>({
        maxBatch: 100,
        itemOf: ({ item }) => item,
        isItemFault: (error) => error === refused,
        isBlocked: (error) => error === blocked,
        laneOf: ({ lane }) => lane,
        run: (items, isApart) =>
          Effect.gen(function* () {
            if (isLocked && items.some(({ lane }) => lane === "locked")) {
              yield* isApart ? Effect.promise(() => opened) : Effect.fail(blocked)
            }
            for (const { name } of items) sent.push(name)
            return items.map(({ name }, item) => ({ item, name }))
          }),
      })
      const waiting = yield* Effect.forEach(["x", "y"], (name) => Effect.forkChild(send({ lane: "locked", name })), {
        concurrency: 1,
      })
      for (const round of [1, 2, 3]) {
        const others = Array.from({ length: 50 }, (_, at) => ({ lane: `lane ${at}`, name: `${round} ${at}` }))
        const rows = yield* Effect.forEach(others, send, { concurrency: "unbounded" })
        expect(rows.map(({ name }) => name)).toEqual(others.map(({ name }) => name))
      }
      expect(sent).not.toContain("x")
      const late = yield* Effect.forkChild(send({ lane: "locked", name: "z" }))
      yield* Effect.sleep("20 millis")
      open()
      for (const fiber of [...waiting, late]) yield* Fiber.join(fiber)
      expect(sent.filter((name) => name.length === 1)).toEqual(["x", "y", "z"])
      expect(yield* send({ lane: "locked", name: "again" })).toMatchObject({ name: "again" })
    }).pipe(Effect.timeout("10 seconds")),
  )

  const refusing = (runs: Array<number>, longestQueueMs: number) =>
    makeGroupCommit<Row, Item>({
      maxBatch: 256,
      longestQueueMs,
      itemOf: ({ item }) => item,
      isItemFault: () => true,
      isBlocked: (error) => error === blocked,
      laneOf: ({ lane }) => lane,
      run: (items, isApart) => {
        if (isApart) runs.push(items.length)
        return Effect.andThen(Effect.sleep(isApart ? "100 millis" : "1 millis"), Effect.fail(blocked))
      },
    })

  it.live("are refused together, not one after the other", () =>
    Effect.gen(function* () {
      const runs: Array<number> = []
      const send = yield* refusing(runs, 60_000)
      const items = Array.from({ length: 50 }, (_, at) => ({ lane: "locked", name: String(at) }))
      const exits = yield* Effect.forEach(items, (item) => Effect.exit(send(item)), { concurrency: "unbounded" })
      expect(exits).toEqual(items.map(() => Exit.fail(blocked)))
      expect(runs).toEqual([50])
    }).pipe(Effect.timeout("10 seconds")),
  )

  it.live("do not wait for those of all other locked lanes", () =>
    Effect.gen(function* () {
      const runs: Array<number> = []
      const send = yield* refusing(runs, 50)
      const items = Array.from({ length: 200 }, (_, at) => ({ lane: `lane ${at}`, name: String(at) }))
      const exits = yield* Effect.forEach(items, (item) => Effect.exit(send(item)), { concurrency: "unbounded" })
      for (const exit of exits) {
        expect(Exit.isFailure(exit) && Cause.squash(exit.cause)).toMatchObject({ wasDone: false })
      }
      expect(runs.length).toBeLessThan(50)
    }).pipe(Effect.timeout("10 seconds")),
  )
})
