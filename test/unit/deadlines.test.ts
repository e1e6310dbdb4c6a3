/** The deadlines of all exchanges: one heap, one timer. */
import { connect } from "node:net"
import { Worker } from "node:worker_threads"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Deadlines, makeDeadlines, type Watch } from "../../src/deadlines.ts"

const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literal("add"), inMs: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })) }),
  Schema.Struct({ do: Schema.Literal("remove"), at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })) }),
  Schema.Struct({
    do: Schema.Literal("look by"),
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })),
    inMs: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })),
  }),
  Schema.Struct({ do: Schema.Literal("pass"), ms: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 })) }),
])

describe("deadlines", () => {
  it.prop(
    "look at everything that is due, in time, never early, and at nothing else",
    [Schema.Array(Step)],
    ([steps]) => {
      let nowMs = 0
      let armedMs = Number.POSITIVE_INFINITY
      const deadlines = new Deadlines(
        () => nowMs,
        (atMs) => {
          armedMs = atMs
        },
      )
      const expected = new Map<Watch, number>()
      const all: Array<Watch> = []
      const add = (dueMs: number) => {
        const watch: Watch = deadlines.add(
          {
            look: (atMs) => {
              expect(atMs).toBe(nowMs)
              expect(expected.get(watch)).toBe(nowMs)
              expected.set(watch, nowMs + 20)
              return nowMs + 20
            },
          },
          dueMs,
        )
        expected.set(watch, dueMs)
        all.push(watch)
      }
      for (const step of steps) {
        const watch = "at" in step ? all[step.at] : undefined
        if (step.do === "add") add(nowMs + step.inMs + 1)
        if (step.do === "remove" && watch !== undefined) {
          deadlines.remove(watch)
          expected.delete(watch)
        }
        if (step.do === "look by" && watch !== undefined) {
          const dueMs = nowMs + step.inMs + 1
          deadlines.lookBy(watch, dueMs)
          const known = expected.get(watch)
          if (known !== undefined) expected.set(watch, Math.min(known, dueMs))
        }
        if (step.do === "pass") {
          const endMs = nowMs + step.ms
          while (armedMs <= endMs) {
            nowMs = armedMs
            armedMs = Number.POSITIVE_INFINITY
            deadlines.tick()
          }
          nowMs = endMs
          for (const dueMs of expected.values()) expect(dueMs).toBeGreaterThan(nowMs)
        }
        expect(deadlines.size).toBe(expected.size)
      }
    },
  )

  it.effect("wake by Effect's clock, to the millisecond, also for one that comes later and is due earlier", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const deadlines = yield* makeDeadlines
        const seen: Array<string> = []
        const watchOf = (name: string) => ({
          look: (nowMs: number) => {
            seen.push(`${name} ${nowMs}`)
            return Number.POSITIVE_INFINITY
          },
        })
        deadlines.add(watchOf("late"), 5000)
        yield* TestClock.adjust(1000)
        deadlines.add(watchOf("early"), 1500)
        const never = deadlines.add(watchOf("never"), 1200)
        deadlines.remove(never)
        yield* TestClock.adjust(10_000)
        expect(seen).toEqual(["early 1500", "late 5000"])
      }),
    ),
  )

  it.effect("calls once after a time, unless the watch is removed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const deadlines = yield* makeDeadlines
        const late: Array<string> = []
        deadlines.after(300, () => late.push("first"))
        const answered = deadlines.after(300, () => late.push("answered"))
        yield* TestClock.adjust(299)
        deadlines.remove(answered)
        expect(late).toEqual([])
        yield* TestClock.adjust(10_000)
        expect(late).toEqual(["first"])
        expect(deadlines.size).toBe(0)
      }),
    ),
  )

  it.live("do not blame a server whose answer has come while the process was busy", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const deadlines = yield* makeDeadlines
        const port = yield* echoOnAThread
        const seen = yield* Effect.callback<string>((resume) => {
          const socket = connect(port, "127.0.0.1", () => {
            const watch = deadlines.after(200, () => resume(Effect.succeed("late")))
            socket.write("a", () => {
              socket.once("data", () => {
                deadlines.remove(watch)
                resume(Effect.succeed("answered"))
              })
              const untilMs = Date.now() + 400
              while (Date.now() < untilMs);
            })
          })
          return Effect.sync(() => socket.destroy())
        })
        expect(seen).toBe("answered")
      }),
    ),
  )
})

/** A server that is not on the thread of the test. */
const echoOnAThread = Effect.map(
  Effect.acquireRelease(
    Effect.callback<{ readonly worker: Worker; readonly port: number }>((resume) => {
      const program = `
        const { parentPort } = require("node:worker_threads")
        const server = require("node:net").createServer((socket) => socket.pipe(socket))
        server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port))`
      const worker = new Worker(program, { eval: true })
      worker.once("message", (port: number) => resume(Effect.succeed({ worker, port })))
    }),
    ({ worker }) => Effect.promise(() => worker.terminate()),
  ),
  ({ port }) => port,
)
