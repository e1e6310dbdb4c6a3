/** A part of the books that fails does not hold up the others. */
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Gate } from "../../../src/admission/gate.ts"
import { keepLeases, type LeasedCall } from "../../../src/calls/settle/leases.ts"
import { Ledger, type LedgerPart } from "../../../src/money/ledger.ts"
import { StoreUnavailable } from "../../../src/store/unavailable.ts"
import { record, unit } from "../../support/books.ts"

const down = Effect.fail(new StoreUnavailable({ store: "postgres", cause: "down" }))

/** Says what was asked of it. */
const part = (org: string, asked: Array<string>, answer: Effect.Effect<void, StoreUnavailable>): LedgerPart => {
  const ask = (what: string) =>
    Effect.andThen(
      Effect.sync(() => asked.push(what)),
      answer,
    )
  return {
    has: (orgId) => orgId === org,
    renew: ask("renew"),
    reap: Effect.as(ask("reap"), 0),
    returnIdle: ask("returnIdle"),
    checkpoint: (checkpoints) => ask(`checkpoint ${checkpoints.map(({ hold }) => hold.orgId)}`),
  }
}

const running = (orgId: string): LeasedCall => ({
  orgId,
  registration: undefined,
  checkpoint: () => ({
    hold: {
      ref: orgId,
      orgId,
      currency: "USD",
      keyId: "k",
      requestId: undefined,
      day: "2026-01-01",
      node: "n",
      amount: unit,
    },
    settlement: { cost: unit, record },
  }),
})

it.effect.each([
  ["fails", down],
  ["does not answer", Effect.never],
] as const)("a part that %s: the others are renewed, checkpointed and reaped", ([, answer]) =>
  Effect.gen(function* () {
    const [asked, askedElsewhere] = [[] as string[], [] as string[]]
    const parts = [part("here", asked, Effect.void), part("elsewhere", askedElsewhere, answer)]
    const ledger = yield* Effect.provide(Ledger, Layer.mock(Ledger, { parts }))
    const gate = yield* Effect.provide(Gate, Layer.mock(Gate, {}))
    const services = { ledger, gate, waiting: new Set<never>(), leaseMs: 10_000, checkpointMs: 2000 }
    yield* keepLeases({ ...services, running: new Set(["here", "elsewhere"].map(running)) })
    yield* TestClock.adjust("30 seconds")
    const count = (what: string) => asked.filter((each) => each === what).length
    expect(count("renew")).toBeGreaterThanOrEqual(15)
    expect(count("reap")).toBeGreaterThanOrEqual(9)
    expect(count("checkpoint here")).toBeGreaterThanOrEqual(13)
    expect(count("returnIdle")).toBeGreaterThanOrEqual(29)
    // After an outage leases of living nodes have expired: they renew before anybody reaps.
    expect(askedElsewhere).not.toContain("reap")
    expect(asked.some((each) => each.includes("elsewhere"))).toBe(false)
  }).pipe(Effect.scoped),
)
