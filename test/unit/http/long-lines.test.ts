/** Long lines of OpenAI's batches are read by a worker: the event loop serves others meanwhile. */
import { setImmediate } from "node:timers/promises"
import { Effect, Layer } from "effect"
import { expect, it } from "vitest"
import type { SentLine } from "../../../src/batches/admit-batch.ts"
import { openaiLines } from "../../../src/http/compatible/batches/openai-lines.ts"
import { LargeRequests, largeBytes } from "../../../src/http/large/large-requests.ts"
import { layerStaticCatalogue, mockCatalogue } from "../../../src/testing/index.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"

const endpoint = "/v1/chat/completions"
const most = 64 * 1024 * 1024

const read = (...lines: ReadonlyArray<string | Uint8Array>): Promise<ReadonlyArray<SentLine>> =>
  Effect.gen(function* () {
    const large = yield* LargeRequests
    const long = {
      bytes: largeBytes,
      read: (parts: ReadonlyArray<Uint8Array>) => Effect.runPromise(large.line(parts, endpoint, most)),
    }
    async function* chunks() {
      for (const line of lines) {
        const bytes = Buffer.concat([Buffer.from(line), Buffer.from("\n")])
        for (let from = 0; from < bytes.length; from += 1_000_000) yield bytes.subarray(from, from + 1_000_000)
      }
    }
    return yield* Effect.promise(async () => {
      const read: Array<SentLine> = []
      for await (const each of openaiLines(chunks(), endpoint, most, long)) read.push(each)
      return read
    })
  }).pipe(
    Effect.provide(
      LargeRequests.layer.pipe(
        Layer.provide(layerStaticCatalogue(mockCatalogue)),
        Layer.provide(layerTestConfig({ largeBodyBytes: most })),
      ),
    ),
    Effect.runPromise,
  )

const line = (content: string, more: object = {}) =>
  JSON.stringify({ custom_id: "a", method: "POST", url: endpoint, body: { model: "main", content }, ...more })
const long = "ä€ x".repeat(100_000)

it("a long line is read as a short one", async () => {
  const bodies = (await read(line("short"), `${line(long)} \r`)).map((each) =>
    "line" in each ? [each.line.id, each.line.path, JSON.parse(Buffer.from(each.line.body).toString())] : each,
  )
  expect(bodies).toEqual([
    ["a", `/openai${endpoint}`, { model: "main", content: "short" }],
    ["a", `/openai${endpoint}`, { model: "main", content: long }],
  ])
})

it("a long line has the faults of a short one", async () => {
  const faults = await read(
    line(long, { method: "GET" }),
    line(long).slice(1),
    Buffer.concat([Buffer.from(line(long)), Buffer.from([0xff])]),
  )
  expect(faults.map((each) => ("problem" in each ? [each.number, each.problem.code] : each))).toEqual([
    [1, "invalid_method"],
    [2, "invalid_json_line"],
    [3, "invalid_json_line"],
  ])
})

it("a line of 30 MB is read in many turns of the event loop", async () => {
  const text = line("x y ".repeat(7_500_000))
  let isRead = false
  const reading = read(text).finally(() => {
    isRead = true
  })
  let turns = 0
  for (; !isRead; turns++) await setImmediate()
  expect(await reading).toHaveLength(1)
  expect(turns).toBeGreaterThan(20)
}, 30_000)
