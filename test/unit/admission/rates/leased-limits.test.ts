/** Limits that a node counts itself, where the store fails: what is sent again, and what is not. */
import { Effect, Exit, Scope } from "effect"
import { describe, expect, it } from "vitest"
import type { Limited } from "../../../../src/admission/gate.ts"
import { makeLeasedLimits } from "../../../../src/admission/rates/leased-limits.ts"
import { correctScript } from "../../../../src/admission/rates/window-script.ts"
import { BackgroundSpeed } from "../../../../src/background.ts"
import { Redis } from "../../../../src/store/redis.ts"
import { StoreUnavailable } from "../../../../src/store/unavailable.ts"

interface Sent {
  readonly isCorrection: boolean
  readonly key: string
  readonly args: ReadonlyArray<string | number>
}

const lost = new StoreUnavailable({ store: "redis", cause: new Error("no answer") })
const unsent = new StoreUnavailable({ store: "redis", cause: new Error("the breaker is open"), wasDone: false })

/** @param fail the failure of a script, if it has one */
const start = async (fail: (sent: Sent) => StoreUnavailable | undefined) => {
  const sent: Array<Sent> = []
  const scope = Effect.runSync(Scope.make())
  const redis = Redis.of({
    ping: Effect.void,
    run: (script, [key = ""], args) =>
      Effect.suspend(() => {
        const each = { isCorrection: script.text === correctScript, key, args }
        const failure = fail(each)
        sent.push(each)
        return failure === undefined ? Effect.succeed(1) : Effect.fail(failure)
      }),
  })
  const limits = await Effect.runPromise(
    makeLeasedLimits.pipe(
      Effect.provideService(Redis, redis),
      Effect.provideService(Scope.Scope, scope),
      Effect.provideService(BackgroundSpeed, 20),
    ),
  )
  return { limits, sent, stop: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

const tokensOf = (bucket: string, amount: number): Limited => ({
  owner: "o",
  rates: [{ bucket, limit: 1000, windowMs: 60_000, unit: "tokens", amount }],
})
const counted = { rates: [{ part: 7, room: 0 }], holdsCalls: false }
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const amounts = (sent: ReadonlyArray<Sent>) =>
  sent.filter(({ isCorrection }) => isCorrection).map(({ key, args }) => [key.split(":")[3], args[1]])

describe("corrections", () => {
  it("are all sent, also if one of them and a report of calls fail", async () => {
    const { limits, sent, stop } = await start(({ isCorrection, key }) =>
      !isCorrection || key.includes(":a:") ? lost : undefined,
    )
    const running: Limited = { owner: "o", rates: [], slots: [{ bucket: "c", limit: 5, scope: "app" }] }
    limits.ask(running).granted([2], true)
    for (let call = 0; call < 40; call++) {
      limits.ended(tokensOf(call === 0 ? "a" : "b", 10), counted, { all: 4, uncached: 4 })
    }
    await pause(60)
    await stop()
    expect(amounts(sent).filter(([bucket]) => bucket === "b")).toHaveLength(39)
  })

  it("that take back are not sent again if their answer was lost: they might count twice", async () => {
    let failures = 1
    const { limits, sent, stop } = await start(() => (failures-- > 0 ? lost : undefined))
    limits.ended(tokensOf("a", 10), counted, { all: 4, uncached: 4 })
    await pause(60)
    await stop()
    expect(amounts(sent)).toEqual([["a", -6]])
  })

  it("that count more are sent again", async () => {
    let failures = 1
    const { limits, sent, stop } = await start(() => (failures-- > 0 ? lost : undefined))
    limits.ended(tokensOf("a", 10), counted, { all: 14, uncached: 14 })
    await pause(60)
    await stop()
    expect(amounts(sent)).toEqual([
      ["a", 4],
      ["a", 4],
    ])
  })

  it("that take back are sent again if they were not sent", async () => {
    let failures = 1
    const { limits, sent, stop } = await start(() => (failures-- > 0 ? unsent : undefined))
    limits.ended(tokensOf("a", 10), counted, { all: 4, uncached: 4 })
    await pause(60)
    await stop()
    expect(amounts(sent)).toEqual([
      ["a", -6],
      ["a", -6],
    ])
  })
})

describe("calls at a time", () => {
  it("keep their lease while more of them are asked for", async () => {
    const { limits, sent, stop } = await start(() => undefined)
    const running: Limited = { owner: "o", rates: [], slots: [{ bucket: "c", limit: 1, scope: "app" }] }
    limits.ask(running).granted([1], true)
    limits.ask(running)
    await pause(400)
    expect(sent.map(({ args }) => args.slice(1))).toContainEqual([1, 15_000, "atLeast"])
    await stop()
  })
})
