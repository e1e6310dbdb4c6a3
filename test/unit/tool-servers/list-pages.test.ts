/** Lists that have no end, no progress, no measure or no speed. */
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { JsonObject } from "../../../src/protocol/mcp/message.ts"
import { readPages } from "../../../src/tool-servers/list-pages.ts"

const tool = (name: string, description = "") => ({ name, description })
let asked = 0
const endless = (entries: (page: number) => ReadonlyArray<JsonObject>, ms = 0) => {
  asked = 0
  const page = (cursor = "0") =>
    Effect.as(Effect.sleep(ms), { tools: entries(asked++), nextCursor: String(Number(cursor) + 1) })
  return readPages(page, "tools")
}

it.effect("that have no end are cut after 100 pages", () =>
  Effect.gen(function* () {
    const { entries, isCut } = yield* endless((page) => [tool(`t${page}`)])
    expect([entries.length, isCut]).toEqual([100, true])
  }),
)

it.effect("that have too many entries are cut", () =>
  Effect.gen(function* () {
    const many = Array.from({ length: 3000 }, (_, at) => tool(`t${at}`))
    const { entries, isCut } = yield* endless(() => many)
    expect([entries.length, isCut, asked]).toEqual([5000, true, 2])
  }),
)

it.effect("that are large are cut at 8 MiB in all", () =>
  Effect.gen(function* () {
    const { entries, isCut } = yield* endless((page) => [tool(`t${page}`, "x".repeat(3 * 1024 * 1024))])
    expect([entries.length, isCut, asked]).toEqual([2, true, 3])
  }),
)

it.effect("that come slowly are cut after half a minute", () =>
  Effect.gen(function* () {
    const read = yield* Effect.forkChild(endless((page) => [tool(`t${page}`)], 20_000))
    yield* TestClock.adjust("5 minutes")
    const { entries, isCut } = yield* Fiber.join(read)
    expect([entries.length, isCut]).toEqual([2, true])
  }),
)

it.effect("that name a page again are cut", () =>
  Effect.gen(function* () {
    const { entries, isCut } = yield* readPages(
      () => Effect.succeed({ tools: [tool("t")], nextCursor: "same" }),
      "tools",
    )
    expect([entries.length, isCut]).toEqual([2, true])
  }),
)
