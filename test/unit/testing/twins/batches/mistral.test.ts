/** Mistral's dialect of batches against its strict twin, over sockets: what a job did not reach has no line. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { dialectOf } from "../../../../../src/dialects/index.ts"
import { makeMistralBatches, openaiTwin, repeating, serveTwin } from "../../../../../src/testing/index.ts"
import { wireOf } from "../../../dialects/batches/steps.ts"
import { inShort, layerClient, type Place, runAt, textOf } from "./running.ts"

const place: Place = {
  name: "mistral",
  dialect: dialectOf({ dialect: "openai-chat", profile: "mistral" }),
  base: "/v1",
  model: "mistral-small-latest",
  make: () => makeMistralBatches(repeating),
  otherwise: serveTwin(openaiTwin, repeating),
}
const four = [
  ["a", "one"],
  ["b", "two"],
  ["c", "three"],
  ["d", "four"],
] as const
type Run = Effect.Success<ReturnType<typeof runAt>>
const running = <A, E>(test: (run: Run) => Effect.Effect<A, E>) =>
  Effect.flatMap(runAt(place), test).pipe(Effect.scoped, Effect.provide(layerClient))

describe("batches at Mistral", () => {
  it.effect("run, and answer each line by its id", () =>
    running(
      Effect.fnUntraced(function* ({ submit, poll, finish, results, twin }) {
        twin.plan({ order: "reversed" })
        const made = yield* submit(four)
        expect(yield* poll(made)).toMatchObject({ state: "running", results: [] })
        const status = yield* finish(made)
        expect(status).toMatchObject({ state: "ended", counts: { completed: 4, failed: 0 }, badLines: [] })
        const found = yield* results(status)
        expect(found.map(inShort)).toEqual(["d answered", "c answered", "b answered", "a answered"])
        expect(textOf(place.dialect, found[0])).toBe("You said: four")
      }),
    ),
  )

  it.effect("may refuse a line, leave one out, answer one twice, and lose an id", () =>
    running(
      Effect.fnUntraced(function* ({ submit, finish, results, twin }) {
        const outcomes = new Map([
          ["a", "refused"],
          ["b", "missing"],
          ["c", "twice"],
          ["d", "without_id"],
        ] as const)
        twin.plan({ outcome: (id) => [...outcomes].find(([line]) => line === id)?.[1] })
        const found = yield* results(yield* finish(yield* submit(four)))
        expect(found.map(inShort).toSorted()).toEqual(["a 400", "c answered", "c answered", "without_id"])
      }),
    ),
  )

  it.effect.each([
    ["expire", { end: "expired" }, "expired"],
    ["are cancelled", { polls: 5 }, "cancelled"],
  ] as const)("that %s have the answers that were in time", ([, plan, state]) =>
    running(
      Effect.fnUntraced(function* ({ submit, finish, results, twin, send, batch }) {
        twin.plan(plan)
        const made = yield* submit(four)
        if (state === "cancelled") expect((yield* send(batch.cancel(made))).status).toBe(200)
        const status = yield* finish(made)
        expect(status.state).toBe(state)
        expect((yield* results(status)).map(inShort)).toEqual(["a answered", "b answered"])
      }),
    ),
  )

  it.effect("are found if the answer that made them was lost, on any page", () =>
    running(
      Effect.fnUntraced(function* ({ submit, twin, send, batch, submission }) {
        twin.plan({ lostCreates: 1 })
        expect(yield* Effect.flip(submit(four))).toMatchObject({ _tag: "UpstreamBroken" })
        const [own = ""] = twin.batches()
        const found = (text: string, page?: string) => batch.found(text, submission, Date.now(), page)
        expect(found((yield* send(batch.find(submission))).body)).toEqual({
          batches: [{ batch: { id: own, inputFile: twin.files()[0] }, isSure: true }],
          next: undefined,
        })
        const others = (at: number) => ({
          data: Array.from({ length: 100 }, () => ({
            id: "other",
            created_at: Date.now() / 1000 - at,
            metadata: null,
          })),
        })
        expect(found(JSON.stringify(others(0)))).toEqual({ batches: [], next: "1" })
        expect(found(JSON.stringify(others(0)), "1")).toEqual({ batches: [], next: "2" })
        expect(found(JSON.stringify(others(3600)), "1")).toEqual({ batches: [], next: undefined })
        expect(batch.find(submission, "2").path).toBe("/batch/jobs?page=2&page_size=100")
      }),
    ),
  )

  it.effect("leave no copies at the vendor, and have a fault if they fail as a whole", () =>
    running(
      Effect.fnUntraced(function* ({ submit, finish, results, twin, send, batch }) {
        const made = yield* submit(four)
        const status = yield* finish(made)
        yield* Effect.forEach(batch.removals(made, status), send)
        expect(twin.files()).toEqual([])
        twin.plan({ end: "failed" })
        const failed = yield* finish(yield* submit(four))
        expect(failed).toMatchObject({ state: "failed", fault: expect.anything() })
        expect(yield* results(failed)).toEqual([])
      }),
    ),
  )

  it("have lines of one endpoint and one model", () => {
    const { batch } = place.dialect
    const lineOf = (path: string, body: object) => batch && Result.getOrUndefined(batch.line(wireOf(path, body), "a"))
    expect(lineOf("/chat/completions", { model: "m" })).toEqual({
      text: '{"custom_id":"a","body":{"model":"m"}}',
      group: "/chat/completions m",
      items: 1,
    })
    expect(lineOf("/embeddings", { model: "e", input: ["x", "y"] })).toMatchObject({ group: "/embeddings e", items: 2 })
    expect(lineOf("/chat/completions", {})).toBeUndefined()
    expect(lineOf("/ocr", { model: "m" })).toBeUndefined()
  })

  it("of unknown states run", () => {
    const made = { id: "a" }
    expect(place.dialect.batch?.status('{"status":"PAUSED"}', made)).toMatchObject({ state: "running" })
    expect(place.dialect.batch?.status('{"status":1}', made)).toBeUndefined()
    expect(place.dialect.batch?.found("[]", { id: "a", group: "", lines: 1 }, 0)).toBeUndefined()
  })
})
