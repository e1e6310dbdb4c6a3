// Eight timeouts of an application, on virtual time: what the vendor does, and what the application sees and pays.

import { setTimeout } from "node:timers/promises"
import { mockCatalogue, openaiChunk, openaiFrames, startMockedGateway } from "@weir-gateway/testing"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { expect, test } from "vitest"
import { answerTo } from "./river.mjs"

const answer = { words: ["A weir ", "regulates."], inTokens: 12, outTokens: 6 }
const atOnce = { connectAfterMs: 0, head: { afterMs: 0 } }
/** A vendor that says each text after a pause; then its reply ends, or stays open. */
const saying = (afterMs, texts, endAfterMs) => ({
  ...atOnce,
  reads: texts.map((bytes) => ({ afterMs, bytes })),
  ...(endAfterMs !== undefined && { endAfterMs }),
})
const whole = saying(0, openaiFrames(answer), 0)
const twoTargets = mockCatalogue
  .replace("targets: [{ vendor: v, model: m }]", "targets: [{ vendor: v, model: m }, { vendor: w, model: n, tier: 2 }]")
  .replace("vendors: [", `vendors: [{ id: w, dialect: openai-chat, baseUrl: "http://other.test" }, `)

/** Asks, lets the time pass, and returns what the application printed, how it failed, and what it paid. */
const asking = ({ replies, passing, catalogue = mockCatalogue, leaveWhen = () => false }) =>
  Effect.gen(function* () {
    const gateway = yield* startMockedGateway({ replies, catalogue })
    const leaving = new AbortController()
    const seen = { text: "", error: undefined }
    const read = async () => {
      const options = { ...gateway, retry: { times: 0 } }
      for await (const piece of answerTo(options, "What is a weir?", { signal: leaving.signal })) seen.text += piece
    }
    const application = read().catch((error) => Object.assign(seen, { error }))
    yield* gateway.received(1)
    for (const time of passing) {
      yield* TestClock.adjust(time)
      // The application reads in real time.
      yield* Effect.promise(() => setTimeout(5))
      if (leaveWhen(seen)) leaving.abort(new Error("enough"))
    }
    yield* Effect.promise(() => application)
    return { ...seen, asked: gateway.vendor.requests.length, paid: gateway.holds().map(({ state }) => state) }
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.runPromise)

const failed = (code, more = {}) => ({ text: "", error: { code }, paid: ["released"], ...more })

test.each([
  ["the vendor accepts no connection", { replies: [{}], passing: ["1 minute"] }, failed("upstream_connect_timeout")],
  [
    "it accepts one and says nothing",
    { replies: [{ connectAfterMs: 0 }], passing: ["10 minutes"] },
    failed("upstream_ttfb_timeout"),
  ],
  [
    "it falls silent in mid-stream",
    { replies: [saying(10, [openaiChunk("A weir ")])], passing: ["1 second", "5 minutes"] },
    failed("upstream_idle_timeout", { text: "A weir ", paid: ["settled"] }),
  ],
  [
    "it speaks, and never ends",
    {
      replies: [
        saying(
          20_000,
          Array.from({ length: 500 }, () => openaiChunk("and ")),
        ),
      ],
      passing: Array.from({ length: 60 }, () => "1 minute"),
    },
    { error: { code: "upstream_total_timeout" }, paid: ["settled"] },
  ],
  [
    "it is slow, within its limits",
    { replies: [saying(25_000, openaiFrames(answer), 0)], passing: Array.from({ length: 8 }, () => "25 seconds") },
    { text: "A weir regulates.", error: undefined, paid: ["settled"] },
  ],
  [
    "another one takes over, and one bill is sent",
    { replies: [{}, whole], passing: ["1 minute"], catalogue: twoTargets },
    { text: "A weir regulates.", error: undefined, asked: 2, paid: ["settled"] },
  ],
  [
    "the application leaves before the first word, and pays nothing",
    { replies: [{ connectAfterMs: 0 }], passing: ["1 second", "1 second"], leaveWhen: () => true },
    { text: "", error: { message: "enough" }, paid: ["released"] },
  ],
  [
    "the application leaves in mid-stream, and pays for what it saw",
    {
      replies: [saying(10, [openaiChunk("A weir ")])],
      passing: ["1 second", "1 second"],
      leaveWhen: ({ text }) => text !== "",
    },
    { text: "A weir ", error: { message: "enough" }, paid: ["settled"] },
  ],
])("%s", async (_, asked, expected) => expect(await asking(asked)).toMatchObject(expected))
