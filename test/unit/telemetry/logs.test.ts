/** Log entries: flat fields, errors with their causes, and one line each. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Tracer } from "effect"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { jsonLine, type LogRecord, logRecord, prettyLine } from "../../../src/telemetry/log-record.ts"
import { logCause, withRequestId } from "../../../src/telemetry/logs.ts"

/** The records that an effect logs. */
const logged = (effect: Effect.Effect<unknown>) => {
  const records: Array<LogRecord> = []
  const keep = Logger.make((entry) => void records.push(logRecord(entry)))
  return Effect.as(Effect.provide(effect, Logger.layer([keep])), records)
}
const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
const away = new StoreUnavailable({ store: "postgres", cause: refused })

describe("an entry", () => {
  it.effect("has its fields beside the message", () =>
    Effect.gen(function* () {
      const [entry] = yield* logged(
        withRequestId("req_1")(Effect.logWarning("A call failed", { target: "v/m", status: 503, why: undefined })),
      )
      expect(entry).toEqual({
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        level: "WARN",
        message: "A call failed",
        target: "v/m",
        status: 503,
        requestId: "req_1",
      })
    }),
  )

  it.effect("has the trace that it belongs to", () =>
    Effect.gen(function* () {
      const span = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: true })
      const [entry] = yield* logged(Effect.provideService(Effect.logInfo("x"), Tracer.ParentSpan, span))
      expect(entry).toMatchObject({ traceId: "a".repeat(32), spanId: "b".repeat(16) })
    }),
  )

  it.effect("tells an error with what caused it, without a stack", () =>
    Effect.gen(function* () {
      const [failed, replied] = yield* logged(
        Effect.andThen(Effect.logError("No", { ref: "r" }, away), logCause({ cause: away }, "req_2")),
      )
      const error = "StoreUnavailable <- Error (ECONNREFUSED): connect ECONNREFUSED"
      expect(failed).toMatchObject({ message: "No", ref: "r", error })
      expect(replied).toMatchObject({ level: "ERROR", requestId: "req_2", error })
    }),
  )

  it.effect("tells where a defect is", () =>
    Effect.gen(function* () {
      const [entry] = yield* logged(
        Effect.catchCause(Effect.die(new TypeError("no such thing")), (cause) => Effect.logError("Oh", cause)),
      )
      expect(entry?.["error"]).toMatch(/^TypeError: no such thing\n\s+at .*logs\.test/)
    }),
  )

  it.effect("keeps fields whose names are taken, and values that are no JSON", () =>
    Effect.gen(function* () {
      const circle: Record<string, unknown> = {}
      circle["circle"] = circle
      const fields = { message: "m", level: 1, error: "e", amount: 12n, circle }
      const [entry] = yield* logged(Effect.logInfo("x", "y", fields, "a\nb"))
      expect(entry).toMatchObject({ message: "x: y: a\nb", level: "INFO", message_: "m", level_: 1, error_: "e" })
      const line = entry === undefined ? "" : jsonLine(entry)
      expect(JSON.parse(line)).toMatchObject({ message: "x: y: a\nb", amount: "12n" })
      expect(line).not.toContain("\n")
    }),
  )
})

describe("a line for people", () => {
  const record = {
    timestamp: "2026-11-22T19:33:01.123Z",
    level: "WARN",
    message: "A call\nfailed",
    target: "v/m",
    said: 'a "b" = c',
    rows: [1, 2n],
    error: "Error: x\n    at y",
  }

  it("is one line, whatever its fields are", () => {
    expect(prettyLine(record, false)).toBe(
      String.raw`19:33:01.123 WARN  A call failed target=v/m said="a \"b\" = c" rows=[1,"2n"] error="Error: x\n    at y"`,
    )
  })

  it("has colours where they are seen, and nothing of a field can move the cursor", () => {
    expect(prettyLine(record, true)).toContain("\u001b[33mWARN \u001b[39m")
    const moved = prettyLine({ ...record, said: "\u001b[2J\u009b2J", message: "\u001b[2J" }, false)
    expect(moved).not.toContain("\u001b")
    expect(moved).not.toContain("\u009b")
  })
})
