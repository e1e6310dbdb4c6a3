/** Clients that leave at any moment, in any store call, beside slow ones: nothing is left of any exchange. */
import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gate } from "../../../src/admission/gate.ts"
import { Calls } from "../../../src/calls/calls.ts"
import type { Connection } from "../../../src/calls/connection.ts"
import { chat } from "../../../src/kinds/chat/chat.ts"
import { EventWriter } from "../../../src/kinds/chat/event-writer.ts"
import { decodeExchange } from "../../../src/kinds/decode.ts"
import { Ledger } from "../../../src/money/ledger.ts"
import { Settler } from "../../../src/money/settler.ts"
import type { ExchangeResponse } from "../../../src/protocol/exchange.ts"
import { Sealing } from "../../../src/store/seal.ts"
import {
  hello,
  layerMemoryGate,
  layerMemoryLedger,
  layerMockVendorClient,
  layerPlainServices,
  layerStaticCatalogue,
  type MockReply,
  makeLedgerBook,
  makeMockVendor,
  mockCaller,
  mockCatalogue,
  openaiFrames,
} from "../../../src/testing/index.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { randomOf } from "../../support/random.ts"

const total = 10_000
const atOnce = 200

const random = randomOf(16)
const upTo = (most: number) => Math.floor(random() * most)
const sometimes = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => (random() < 0.5 ? Effect.delay(effect, upTo(40)) : effect))

/** Stores that answer at once or later. */
const layerSlowLedger = (book: ReturnType<typeof makeLedgerBook>) =>
  Layer.effect(
    Ledger,
    Effect.map(Ledger, (ledger) =>
      Ledger.of({
        ...ledger,
        hold: (request) => sometimes(ledger.hold(request)),
        settle: (settlement) => sometimes(ledger.settle(settlement)),
        release: (hold) => sometimes(ledger.release(hold)),
      }),
    ),
  ).pipe(Layer.provide(layerMemoryLedger(book)))
const slowGate = Layer.effect(
  Gate,
  Effect.map(Gate, (gate) =>
    Gate.of({
      ...gate,
      admit: (request) => sometimes(gate.admit(request)),
      complete: (...args) => sometimes(gate.complete(...args)),
      withdraw: (registration) => sometimes(gate.withdraw(registration)),
    }),
  ),
).pipe(Layer.provide(layerMemoryGate))

const frames = openaiFrames({ words: ["one ", "two ", "three"], inTokens: 10, outTokens: 3 })
const whole = JSON.stringify({
  choices: [{ message: { content: "done" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 1 },
})
const replies: ReadonlyArray<MockReply> = Array.from({ length: total }, (_, at) =>
  at % 2 === 0
    ? {
        connectAfterMs: upTo(30),
        head: { afterMs: upTo(30) },
        reads: frames.map((bytes) => ({ afterMs: upTo(30), bytes })),
        endAfterMs: upTo(30),
      }
    : {
        connectAfterMs: upTo(30),
        head: { afterMs: upTo(30), headers: { "content-type": "application/json" } },
        reads: [{ afterMs: upTo(30), bytes: whole }],
        endAfterMs: upTo(10),
      },
)

/** A client that may be slow, and leaves after a while, or when it has everything. */
const makeClient = () => {
  let listener: Parameters<Connection<ExchangeResponse>["listen"]>[0] | undefined
  let unsent = 0
  let isOver = false
  const connection: Connection<ExchangeResponse> = {
    events: new EventWriter(),
    listen: (to) => {
      listener = to
    },
    send: () => {
      isOver = true
    },
    refuse: () => {
      isOver = true
    },
    write: (events) => {
      if (random() < 0.7) return true
      unsent += events.length
      return false
    },
    end: (flushed) => {
      unsent = 0
      isOver = true
      flushed()
    },
    cut: () => listener?.gone(),
    unsentBytes: () => unsent,
    takenBytes: () => 0,
  }
  const leave = () => {
    if (!isOver) listener?.gone()
  }
  const read = () => {
    if (unsent === 0) return
    unsent = 0
    listener?.room()
  }
  return { connection, leave, read }
}

it.effect(
  `of ${total} exchanges with clients that leave at any moment nothing is left`,
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const vendor = makeMockVendor()
        const book = makeLedgerBook({ org: 10n ** 16n })
        const parts = Layer.mergeAll(
          layerPlainServices.pipe(Layer.provideMerge(slowGate)),
          Sealing.layer,
          layerMockVendorClient(vendor, replies),
          layerSlowLedger(book),
          layerStaticCatalogue(mockCatalogue),
        ).pipe(Layer.provideMerge(layerTestConfig({ streamBufferBytes: 200 })))
        const calls = yield* Effect.map(
          Layer.build(Calls.layer.pipe(Layer.provide(Settler.layer), Layer.provide(parts))),
          Context.get(Calls),
        )
        for (let from = 0; from < total; from += atOnce) {
          const clients = Array.from({ length: atOnce }, makeClient)
          for (const [at, { connection }] of clients.entries()) {
            const ref = `req_${from + at}`
            const meta = at % 3 === 0 ? { meta: { requestId: ref } } : {}
            const body = Buffer.from(JSON.stringify({ ...hello, stream: at % 2 === 0, ...meta }))
            yield* Effect.forkScoped(
              calls.run({ requestId: ref, kind: chat, caller: mockCaller, decoded: decodeExchange(body) }, connection),
            )
          }
          const leaves = clients.map(() => upTo(250))
          for (let nowMs = 0; nowMs < 400; nowMs += 10) {
            for (const [at, client] of clients.entries()) {
              if ((leaves[at] ?? 0) <= nowMs) client.leave()
              else if (random() < 0.3) client.read()
            }
            yield* TestClock.adjust(10)
          }
          expect([calls.open(), calls.watched()]).toEqual([0, 0])
        }
        const states = [...book.holds.values()].map(({ state }) => state)
        expect(states.filter((state) => state === "held")).toEqual([])
        expect(states.filter((state) => state === "settled").length).toBeGreaterThan(total / 10)
        expect(states.filter((state) => state === "released").length).toBeGreaterThan(total / 10)
        expect(vendor.aborted).toBeGreaterThan(total / 10)
        const spent = [...book.holds.values()].reduce((sum, { cost }) => sum + cost, 0n)
        expect(book.balance("org")).toBe(10n ** 16n - spent)
      }),
    ),
  120_000,
)
