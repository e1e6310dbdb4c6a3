/** Each dialect of batches against its strict twin, over sockets. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { dialectOf } from "../../../../../src/dialects/index.ts"
import {
  anthropicTwin,
  geminiTwin,
  openaiTwin,
  repeating,
  responsesTwin,
  serveTwin,
} from "../../../../../src/testing/index.ts"
import { makeAnthropicBatches } from "../../../../../src/testing/twins/anthropic/batches.ts"
import { makeGeminiBatches } from "../../../../../src/testing/twins/gemini/batches.ts"
import { makeOpenaiBatches } from "../../../../../src/testing/twins/openai/batches.ts"
import { inShort, layerClient, objectOf, type Place, runAt, textOf } from "./running.ts"

const openai: Place = {
  name: "openai",
  dialect: dialectOf({ dialect: "openai-chat" }),
  base: "/v1",
  model: "gpt-5",
  make: () => makeOpenaiBatches(repeating),
  otherwise: serveTwin(openaiTwin, repeating),
}
const responses: Place = {
  ...openai,
  name: "openai, responses",
  dialect: dialectOf({ dialect: "openai-responses" }),
  otherwise: serveTwin(responsesTwin, repeating),
}
const azureTwin = () => makeOpenaiBatches(repeating, { prefix: "", pendingReads: 2 })
const azure: Place = {
  ...openai,
  name: "azure",
  dialect: dialectOf({ dialect: "openai-chat", profile: "azure" }),
  base: "",
  make: azureTwin,
}
const dated: Place = {
  ...azure,
  name: "azure with a version",
  dialect: dialectOf({ dialect: "openai-chat", profile: "azure", apiVersion: "2024-10-21" }),
}
const groq: Place = {
  ...openai,
  name: "groq",
  dialect: dialectOf({ dialect: "openai-chat", profile: "groq" }),
  base: "/openai/v1",
}
const anthropic: Place = {
  name: "anthropic",
  dialect: dialectOf({ dialect: "anthropic" }),
  base: "",
  model: "claude-opus-4-5",
  make: () => makeAnthropicBatches(repeating),
  otherwise: serveTwin(anthropicTwin, repeating),
}
const gemini: Place = {
  name: "gemini",
  dialect: dialectOf({ dialect: "gemini" }),
  base: "",
  model: "gemini-2.5-flash",
  make: () => makeGeminiBatches(repeating),
  otherwise: serveTwin(geminiTwin, repeating),
}
const inline: Place = {
  ...gemini,
  name: "gemini, results with the batch",
  make: () => {
    const twin = makeGeminiBatches(repeating)
    twin.plan({ inline: true })
    return twin
  },
}

const four = [
  ["a", "one"],
  ["b", "two"],
  ["c", "three"],
  ["d", "four"],
] as const

describe.each([openai, responses, azure, dated, groq, anthropic, gemini, inline])("batches at $name", (place) => {
  const over = (time: { readonly expired: string; readonly cancelled: string }) =>
    place.name.startsWith("gemini") ? { expired: "504", cancelled: "cancelled" } : time
  const { expired, cancelled } = over({ expired: "expired", cancelled: "cancelled" })

  it.effect("run, and answer each line by its id", () =>
    Effect.gen(function* () {
      const { submit, poll, finish, results, twin } = yield* runAt(place)
      twin.plan({ order: "reversed" })
      const made = yield* submit(four)
      expect(yield* poll(made)).toMatchObject({ state: "running", results: [] })
      const status = yield* finish(made)
      expect(status).toMatchObject({ state: "ended", badLines: [] })
      const found = yield* results(status)
      expect(found.map(inShort)).toEqual(["d answered", "c answered", "b answered", "a answered"])
      expect(found.map((result) => textOf(place.dialect, result))).toEqual(
        ["four", "three", "two", "one"].map((text) => `You said: ${text}`),
      )
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("may refuse a line, leave one out, answer one twice, and lose an id", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin } = yield* runAt(place)
      const outcomes = new Map([
        ["a", "refused"],
        ["b", "missing"],
        ["c", "twice"],
        ["d", "without_id"],
      ] as const)
      twin.plan({ outcome: (id) => [...outcomes].find(([line]) => line === id)?.[1] })
      const found = yield* results(yield* finish(yield* submit(four)))
      expect(found.map(inShort).toSorted()).toEqual(["a 400", "c answered", "c answered", "without_id"])
      const refused = found.find((result) => inShort(result) === "a 400")
      if (refused?.t !== "answered") throw new Error("no refusal")
      expect(place.dialect.decodeError(refused.status, refused.body)).toMatchObject({ blame: "request" })
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("expire with the answers that were in time", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin } = yield* runAt(place)
      twin.plan({ end: "expired" })
      const status = yield* finish(yield* submit(four))
      expect(status.state).toBe("expired")
      expect((yield* results(status)).map(inShort).toSorted()).toEqual([
        "a answered",
        "b answered",
        `c ${expired}`,
        `d ${expired}`,
      ])
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("are cancelled with the answers that were in time", () =>
    Effect.gen(function* () {
      const { submit, poll, finish, results, twin, send, batch } = yield* runAt(place)
      twin.plan({ polls: 5 })
      const made = yield* submit(four)
      expect((yield* poll(made)).state).toBe("running")
      expect((yield* send(batch.cancel(made))).status).toBe(200)
      const status = yield* finish(made)
      expect(status.state).toBe("cancelled")
      expect((yield* results(status)).map(inShort).toSorted()).toEqual([
        "a answered",
        "b answered",
        `c ${cancelled}`,
        `d ${cancelled}`,
      ])
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("may complete although a cancellation was accepted", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin, send, batch } = yield* runAt(place)
      twin.plan({ polls: 5, cancelRaces: true })
      const made = yield* submit(four)
      expect((yield* send(batch.cancel(made))).status).toBe(200)
      const status = yield* finish(made)
      expect(status.state).toBe("ended")
      expect((yield* results(status)).map(inShort)).toHaveLength(4)
      yield* send(batch.cancel(made))
      expect((yield* finish(made)).state).toBe("ended")
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("are found if the answer that made them was lost", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin, send, batch, submission } = yield* runAt(place)
      yield* submit([["other", "x"]]).pipe(Effect.exit)
      twin.plan({ lostCreates: 1 })
      expect(yield* Effect.flip(submit(four))).toMatchObject({ _tag: "UpstreamBroken" })
      expect(twin.batches()).toHaveLength(2)
      const page = batch.found((yield* send(batch.find(submission))).body, submission, Date.now())
      const [found] = page?.batches ?? []
      expect(found?.batch.id).toBe(twin.batches()[1])
      expect(found?.isSure).toBe(place.name !== "anthropic")
      if (found === undefined) throw new Error("not found")
      const ids = (yield* results(yield* finish(found.batch))).map(inShort)
      expect(ids).toEqual(four.map(([id]) => `${id} answered`))
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("leave no copies at the vendor", () =>
    Effect.gen(function* () {
      const { submit, finish, twin, send, batch } = yield* runAt(place)
      const made = yield* submit(four)
      const status = yield* finish(made)
      const replies = yield* Effect.forEach(batch.removals(made, status), send)
      expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
      expect(twin.files()).toEqual([])
      // OpenAI's batches cannot be removed; they have ids and counts alone.
      expect(twin.batches()).toHaveLength(place.make === openai.make || place.make === azureTwin ? 1 : 0)
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("that fail as a whole have a fault", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin } = yield* runAt(place)
      twin.plan({ end: "failed" })
      const status = yield* finish(yield* submit(four))
      if (place.name === "anthropic") return
      expect(status).toMatchObject({ state: "failed", results: [], fault: expect.anything() })
      expect(yield* results(status)).toEqual([])
    }).pipe(Effect.provide(layerClient)),
  )
})

describe.each([openai, anthropic, gemini])("results of $name that break off", (place) => {
  it.effect("by a reset are no results; the second read is whole", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin } = yield* runAt(place)
      const status = yield* finish(yield* submit(four))
      twin.plan({ brokenReads: 1, breaksAfter: { bytes: 100, resets: true } })
      expect(yield* Effect.flip(results(status))).toMatchObject({ _tag: "UpstreamBroken" })
      expect((yield* results(status)).map(inShort)).toHaveLength(4)
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("without a sign have a line that cannot be read", () =>
    Effect.gen(function* () {
      const { submit, finish, results, twin } = yield* runAt(place)
      const status = yield* finish(yield* submit(four))
      twin.plan({ brokenReads: 1, breaksAfter: { bytes: 100, resets: false } })
      expect((yield* results(status)).map(inShort)).toEqual(["unreadable"])
      expect((yield* results(status)).map(inShort)).toHaveLength(4)
    }).pipe(Effect.provide(layerClient)),
  )
})

describe("lines that the vendor does not take", () => {
  const twice = [
    ["a", "one"],
    ["a", "two"],
  ] as const

  it.effect("fail all of OpenAI's batch, by their number", () =>
    Effect.gen(function* () {
      const { submit, finish } = yield* runAt(openai)
      const status = yield* finish(yield* submit(twice))
      expect(status).toMatchObject({ state: "failed", fault: { code: "duplicate_custom_id", blame: "request" } })
      expect(status.badLines.map(({ line }) => line)).toEqual([2])
    }).pipe(Effect.provide(layerClient)),
  )

  it.effect("are refused by Anthropic at once", () =>
    Effect.gen(function* () {
      const { submit, twin } = yield* runAt(anthropic)
      expect(yield* Effect.flip(submit(twice))).toMatchObject({ code: "invalid_request_error", blame: "request" })
      expect(twin.batches()).toEqual([])
    }).pipe(Effect.provide(layerClient)),
  )
})

describe.each([openai, gemini])("vectors of $name", (place) => {
  it.effect("are read by the decoder of whole replies", () =>
    Effect.gen(function* () {
      const { batch, finish, results, submitLines } = yield* runAt(place)
      const { embedding } = place.dialect
      if (embedding === undefined) throw new Error("no vectors")
      const asked = { input: ["x"], encoding: "float" } as const
      const wire = Result.getOrThrow(embedding.encode(asked, "embedding-1", "embedding-1"))
      const lines = ["a", "b"].map((id) => Result.getOrThrow(batch.line(wire, id)))
      const found = yield* results(yield* finish(yield* submitLines(lines)))
      expect(found.map(inShort)).toEqual(["a answered", "b answered"])
      const [first] = found
      if (first?.t !== "answered") throw new Error("no answer")
      const decoded = embedding.decode(objectOf(first.body), asked, {})
      expect(decoded).toMatchObject({ vectors: [expect.anything()], inTokens: 1 })
    }).pipe(Effect.provide(layerClient)),
  )
})
