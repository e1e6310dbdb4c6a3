/** The targets that are asked, and their order: one rule for a request, and for the socket of a session. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Queue, Result } from "effect"
import { TestClock } from "effect/testing"
import { layerMemory } from "../../../src/admission/gate-memory.ts"
import { Calls } from "../../../src/calls/calls.ts"
import type { Connection } from "../../../src/calls/connection.ts"
import { firstAnswer } from "../../../src/calls/vendor/target-loop.ts"
import { Catalogue } from "../../../src/catalogue/catalogue.ts"
import type { CallTarget } from "../../../src/catalogue/snapshot.ts"
import type { Caller } from "../../../src/identity/caller.ts"
import { chat } from "../../../src/kinds/chat/chat.ts"
import { EventWriter } from "../../../src/kinds/chat/event-writer.ts"
import { decodeExchange } from "../../../src/kinds/decode.ts"
import { openaiProtocol } from "../../../src/kinds/realtime/openai/protocol.ts"
import { Realtime } from "../../../src/kinds/realtime/realtime.ts"
import { Settler } from "../../../src/money/settler.ts"
import type { ExchangeResponse } from "../../../src/protocol/exchange.ts"
import { Sealing } from "../../../src/store/seal.ts"
import { toServiceError } from "../../../src/store/unavailable.ts"
import { hello } from "../../../src/testing/index.ts"
import { layerMemoryLedger, makeLedgerBook } from "../../../src/testing/ledger-memory.ts"
import { mockCaller } from "../../../src/testing/mocked-engine.ts"
import { layerPlainServices } from "../../../src/testing/plain-services.ts"
import { layerStaticCatalogue } from "../../../src/testing/static-catalogue.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { UpstreamBroken, VendorClient } from "../../../src/upstream/client.ts"
import { TargetHealth } from "../../../src/upstream/health.ts"
import { UpgradeRefused, type VendorSocket, VendorSockets } from "../../../src/upstream/vendor-sockets.ts"

/** The answer of a vendor; it breaks off if the status is 0. */
interface Said {
  readonly status: number
  readonly code?: string
  readonly waitS?: number
}
const works: Said = { status: 200 }
const fails: Said = { status: 503 }
const breaksOff: Said = { status: 0 }
const lacksKey: Said = { status: 401, code: "invalid_api_key" }
const refusesRequest: Said = { status: 400, code: "unknown_parameter" }
const filters: Said = { status: 400, code: "content_filter" }
const isBusy: Said = { status: 429, code: "rate_limit_exceeded" }
const asksToWait = (waitS: number): Said => ({ ...isBusy, waitS })

interface Step {
  readonly a: Said
  readonly b: Said
  /** The vendors that are asked, in this order. */
  readonly asked: string
  /** The answer that the client gets. */
  readonly told: string
  /** The time that passes before. */
  readonly afterS?: number
}

const answered = "an answer"
const times = (count: number, step: Step): ReadonlyArray<Step> => Array.from({ length: count }, () => step)

const cases: ReadonlyArray<readonly [title: string, steps: ReadonlyArray<Step>, more?: string]> = [
  ["the first that answers is the last that is asked", [{ a: works, b: works, asked: "a", told: answered }]],
  ["one that fails is followed by the next", [{ a: fails, b: works, asked: "a b", told: answered }]],
  ["one that breaks off, too", [{ a: breaksOff, b: works, asked: "a b", told: answered }]],
  ["a refused request is followed by none", [{ a: refusesRequest, b: works, asked: "a", told: "upstream_error" }]],
  ["unless the model says so", [{ a: refusesRequest, b: works, asked: "a b", told: answered }], "tryNext: true, "],
  [
    "a content filter is followed by none, whatever the model says",
    [{ a: filters, b: works, asked: "a", told: "content_blocked" }],
    "tryNext: true, ",
  ],
  [
    "a target at fault is left alone, and then tried again",
    [
      { a: lacksKey, b: works, asked: "a b", told: answered },
      { a: works, b: works, asked: "b", told: answered },
      { a: works, b: works, asked: "a", told: answered, afterS: 30 },
    ],
  ],
  [
    "if all are at fault, all are asked all the same",
    [
      { a: lacksKey, b: lacksKey, asked: "a b", told: "upstream_error" },
      { a: lacksKey, b: works, asked: "a b", told: answered },
    ],
  ],
  [
    "a vendor that asks to wait is left alone for as long",
    [
      { a: asksToWait(20), b: works, asked: "a b", told: answered },
      { a: works, b: works, asked: "b", told: answered, afterS: 19 },
      { a: works, b: works, asked: "a", told: answered, afterS: 1 },
    ],
  ],
  [
    "if all ask to wait, none is asked, and the client is told the shortest wait",
    [
      { a: asksToWait(30), b: asksToWait(20), asked: "a b", told: "upstream_error in 20 s" },
      { a: works, b: works, asked: "", told: "upstream_error in 15 s", afterS: 5 },
    ],
  ],
  [
    "if all were busy once, all are asked once more, and then none",
    [
      { a: isBusy, b: isBusy, asked: "a b", told: "upstream_error in 1 s" },
      { a: isBusy, b: isBusy, asked: "a b", told: "upstream_error in 2 s" },
      { a: works, b: works, asked: "", told: "upstream_error in 2 s" },
    ],
  ],
  [
    "one that fails five times in a row is left alone",
    [
      ...times(5, { a: fails, b: works, asked: "a b", told: answered }),
      { a: works, b: works, asked: "b", told: answered },
    ],
  ],
  [
    "if the breakers of all are open, all are asked all the same",
    [
      ...times(5, { a: fails, b: fails, asked: "a b", told: "upstream_error" }),
      { a: fails, b: works, asked: "a b", told: answered },
    ],
  ],
  [
    "one that asks to wait is left alone though the breaker of the other is open",
    [
      ...times(4, { a: fails, b: fails, asked: "a b", told: "upstream_error" }),
      { a: fails, b: asksToWait(20), asked: "a b", told: "upstream_error in 20 s" },
      { a: works, b: works, asked: "a", told: answered },
    ],
  ],
]

const targets = "targets: [{ vendor: a, model: m, tier: 1 }, { vendor: b, model: m, tier: 2 }]"
const catalogue = (more: string) => `
version: 1
vendors:
  - { id: a, dialect: openai-chat, baseUrl: "http://a" }
  - { id: b, dialect: openai-chat, baseUrl: "http://b" }
models:
  - { handle: main, maxOutput: 100, ${more}${targets} }
  - { handle: voice, kind: realtime, ${more}${targets} }
prices:
  - { model: main, currency: USD, input: "3", output: "15", from: 1970-01-01 }
  - { model: voice, currency: USD, input: "4", output: "16", dims: { audio_in: "32", audio_out: "64" }, from: 1970-01-01 }
orgs: [{ id: org, name: O, currency: USD, models: [main, voice] }]
apps: [{ id: app, org: org }]
`

const caller: Caller = { ...mockCaller, org: { ...mockCaller.org, models: ["main", "voice"] } }

/** The answers of two vendors to the next calls, and the vendors that were asked. */
interface Vendors {
  says: Pick<Step, "a" | "b">
  asked: Array<string>
}

const ask = (vendors: Vendors, baseUrl: string) => {
  const name = new URL(baseUrl).hostname
  vendors.asked.push(name)
  const { status, code, waitS } = name === "a" ? vendors.says.a : vendors.says.b
  const headers = { "content-type": "application/json", ...(waitS !== undefined && { "retry-after": String(waitS) }) }
  return { status, headers, body: status === 200 ? whole : JSON.stringify({ error: { code, message: "no" } }) }
}

const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 1 },
})

const broken = () => new UpstreamBroken({ cause: "reset" })

const clientOf = (vendors: Vendors) =>
  VendorClient.of({
    start: ({ baseUrl }, listener) => {
      const { status, headers, body } = ask(vendors, baseUrl)
      listener.connected()
      if (status === 0) listener.broken(broken())
      else {
        listener.head({ status, headers })
        listener.bytes(Buffer.from(body))
        listener.ended()
      }
      return { pause: () => {}, resume: () => {}, leave: () => {}, abort: () => {} }
    },
  })

const open: VendorSocket = {
  listen: () => {},
  send: () => true,
  pause: () => {},
  resume: () => {},
  close: () => {},
}

const socketsOf = (vendors: Vendors) =>
  VendorSockets.of({
    open: ({ baseUrl }) =>
      Effect.suspend((): Effect.Effect<VendorSocket, UpstreamBroken | UpgradeRefused> => {
        const { status, headers, body } = ask(vendors, baseUrl)
        if (status === 0) return Effect.fail(broken())
        return status === 200 ? Effect.succeed(open) : Effect.fail(new UpgradeRefused({ status, headers, body }))
      }),
  })

const layerOf = (vendors: Vendors, more: string) => {
  const parts = Layer.mergeAll(
    layerPlainServices.pipe(Layer.provideMerge(layerMemory)),
    Sealing.layer,
    Layer.succeed(VendorClient, clientOf(vendors)),
    layerMemoryLedger(makeLedgerBook({ org: 10n ** 13n })),
    layerStaticCatalogue(catalogue(more)),
  ).pipe(Layer.provideMerge(layerTestConfig()))
  return Realtime.layer.pipe(
    Layer.provideMerge(Calls.layer),
    Layer.provide([Settler.layer, Layer.succeed(VendorSockets, socketsOf(vendors))]),
    Layer.provide(parts),
  )
}

type Outcome = Result.Result<unknown, Parameters<Connection<ExchangeResponse>["refuse"]>[0]>

const exchange = Effect.gen(function* () {
  const calls = yield* Calls
  const outcomes = yield* Queue.unbounded<Outcome>()
  const connection: Connection<ExchangeResponse> = {
    events: new EventWriter(),
    send: (reply) => Queue.offerUnsafe(outcomes, Result.succeed(reply)),
    refuse: (error) => Queue.offerUnsafe(outcomes, Result.fail(error)),
    write: () => true,
    end: (flushed) => flushed(),
    cut: () => {},
    unsentBytes: () => 0,
    takenBytes: () => 0,
    listen: () => {},
  }
  const decoded = decodeExchange(Buffer.from(JSON.stringify({ ...hello, model: "main", stream: false })))
  yield* calls.run({ requestId: "req_order", kind: chat, caller, decoded }, connection)
  return yield* Queue.take(outcomes)
})

/** Its client has left when the vendor's socket is open. */
const session = Effect.gen(function* () {
  const realtime = yield* Realtime
  const begun = realtime.run({
    protocol: openaiProtocol,
    requestId: "req_order",
    caller,
    again: Effect.succeed(caller),
    model: "voice",
    named: "voice",
    sessionId: undefined,
    purpose: undefined,
    headers: {},
    accept: () => undefined,
  })
  return yield* Effect.result(begun)
})

const toldOf = (outcome: Outcome): string => {
  if (Result.isSuccess(outcome)) return answered
  const { code, retryAfterMs } = toServiceError(outcome.failure)
  return retryAfterMs === undefined ? code : `${code} in ${Math.round(retryAfterMs / 1000)} s`
}

const ways: ReadonlyArray<readonly [name: string, run: Effect.Effect<Outcome, never, Calls | Realtime>]> = [
  ["an exchange", exchange],
  ["a session", session],
]

describe.each(ways)("of the targets of %s", (_, run) => {
  it.effect.each(cases)("%s", ([, steps, more = ""]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const vendors: Vendors = { says: { a: works, b: works }, asked: [] }
        const context = yield* Layer.build(layerOf(vendors, more))
        const seen: Array<Pick<Step, "asked" | "told">> = []
        for (const { a, b, afterS = 0 } of steps) {
          yield* TestClock.adjust(afterS * 1000)
          vendors.says = { a, b }
          vendors.asked = []
          const outcome = yield* Effect.provideContext(run, context)
          seen.push({ asked: vendors.asked.join(" "), told: toldOf(outcome) })
        }
        expect(seen).toEqual(steps.map(({ asked, told }) => ({ asked, told })))
      }),
    ),
  )
})

describe("a target whose reply breaks off after the client has a part of it", () => {
  it.effect("is the last that is asked, and is not left alone, however often that happens", () =>
    Effect.gen(function* () {
      const health = yield* TargetHealth
      const targets = (yield* Catalogue).current().model("main")?.targets ?? []
      const asked: Array<string> = []
      const open = ({ vendor }: CallTarget) =>
        Effect.sync(() => {
          asked.push(vendor.id)
          return Result.fail(broken())
        })
      for (let call = 0; call < 6; call++) {
        const answer = yield* firstAnswer({ targets, health, nowMs: () => 0, open, isCommitted: () => true })
        expect(Result.isFailure(answer)).toBe(true)
      }
      expect(asked).toEqual(["a", "a", "a", "a", "a", "a"])
      expect(targets.filter(({ key }) => health.isSuspect(key))).toEqual([])
    }).pipe(Effect.provide([TargetHealth.layer, layerStaticCatalogue(catalogue(""))])),
  )
})
