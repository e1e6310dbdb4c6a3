/** One contract for every gate: in memory, and on Redis if there is one. */
import { randomUUID } from "node:crypto"
import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, type Layer, Layer as Layers, Result } from "effect"
import { TestClock } from "effect/testing"
import { type AdmitRequest, Gate, type SessionClaim } from "../../../src/admission/gate.ts"
import { layerMemory } from "../../../src/admission/gate-memory.ts"
import { layerRedis } from "../../../src/admission/gate-redis.ts"
import { partMsOf } from "../../../src/admission/rates/sliding-window.ts"
import { dayOf } from "../../../src/protocol/values/utc8.ts"
import { Redis } from "../../../src/store/redis.ts"
import { layerTestConfig, testRedisUrl } from "../../../src/testing/stores.ts"

const redisUrl = testRedisUrl()
const config = layerTestConfig({ idempotencyTtlS: 60, redisUrl, redisDeadlineMs: 2000 })
const memory = layerMemory.pipe(Layers.provide(config))

const newCaller = (): AdmitRequest => ({ owner: `org_${randomUUID()}`, keyId: "key", rates: [] })
const windowOf = (limit: number, windowMs: number, scope?: "app" | "endUser") => ({
  bucket: `b${limit}`,
  limit,
  windowMs,
  scope,
})

const outcome = (request: AdmitRequest) =>
  Effect.flatMap(Gate, (gate) => gate.admit(request)).pipe(
    Effect.result,
    Effect.map((result) =>
      Result.isSuccess(result)
        ? { admitted: result.success._tag }
        : result.failure._tag === "ServiceError"
          ? { refused: result.failure.code, detail: result.failure.detail, retryAfterMs: result.failure.retryAfterMs }
          : { broken: result.failure.store },
    ),
  )

const contract = (name: string, gate: Layer.Layer<Gate, unknown>) =>
  layer(gate, { excludeTestServices: true })(name, (it) => {
    it.effect("a rate window admits its limit, then refuses with its scope and the time left", () =>
      Effect.gen(function* () {
        const request = { ...newCaller(), rates: [windowOf(2, 400, "app")] }
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
        const refused = yield* outcome(request)
        expect(refused).toMatchObject({ refused: "rate_limited", detail: { scope: "app" } })
        expect(refused.retryAfterMs).toBeGreaterThan(0)
        // The window, and the part of it that leaves last.
        expect(refused.retryAfterMs).toBeLessThanOrEqual(400 + partMsOf(400))
        yield* Effect.sleep(450)
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
      }),
    )

    it.effect("a look counts nothing, and finds the room that there is", () =>
      Effect.gen(function* () {
        const gate = yield* Gate
        const request = { ...newCaller(), rates: [windowOf(2, 60_000, "app"), windowOf(9, 60_000)] }
        for (let at = 0; at < 5; at++) yield* gate.look(request)
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
        yield* gate.look(request)
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
        const refused = yield* Effect.flip(gate.look(request))
        expect(refused).toMatchObject({ code: "rate_limited", detail: { scope: "app", limit: 2, used: 2 } })
        if (refused._tag === "ServiceError") expect(refused.retryAfterMs).toBeGreaterThan(0)
        yield* gate.look(newCaller())
      }),
    )

    it.effect("a rate of tokens counts an estimate, and what was used when the call has ended", () =>
      Effect.gen(function* () {
        const gate = yield* Gate
        const tokens = (amount: number): AdmitRequest => ({
          ...tokenCaller,
          rates: [{ bucket: "t", limit: 1000, windowMs: 60_000, unit: "tokens", scope: "key", amount }],
        })
        const tokenCaller = newCaller()
        const first = yield* gate.admit(tokens(900))
        expect(yield* outcome(tokens(200))).toMatchObject({
          refused: "rate_limited",
          detail: { scope: "key", unit: "tokens", limit: 1000, used: 900 },
        })
        // It used less than it might have.
        if ("counted" in first && first.counted !== undefined)
          yield* gate.ended(tokens(900), first.counted, { all: 300, uncached: 300 })
        yield* Effect.sleep(300)
        const second = yield* gate.admit(tokens(600))
        // It used more.
        if ("counted" in second && second.counted !== undefined)
          yield* gate.ended(tokens(600), second.counted, { all: 800, uncached: 10 })
        yield* Effect.sleep(300)
        expect(yield* outcome(tokens(1))).toMatchObject({ refused: "rate_limited", detail: { used: 1100 } })
        const never = yield* outcome(tokens(1001))
        expect(never).toMatchObject({ refused: "rate_limited", detail: { asked: 1001 }, retryAfterMs: undefined })
      }),
    )

    it.effect("calls at a time are left when they end; a call that is answered from what is known takes none", () =>
      Effect.gen(function* () {
        const gate = yield* Gate
        const caller = newCaller()
        const slots = [{ bucket: "c", limit: 2, scope: "person" as const }]
        const request = (requestId: string): AdmitRequest => ({
          ...caller,
          slots,
          register: { requestId, claim: requestId, payloadHash: "h", leaseMs: 60_000 },
        })
        const first = yield* gate.admit(request("a"))
        expect(yield* outcome(request("b"))).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(request("c"))).toMatchObject({
          refused: "rate_limited",
          detail: { scope: "person", unit: "concurrent", limit: 2, used: 2 },
        })
        expect(yield* outcome(request("a"))).toEqual({ admitted: "InProgress" })
        if ("counted" in first && first.counted !== undefined)
          yield* gate.ended(request("a"), first.counted, { all: 0, uncached: 0 })
        expect(yield* outcome(request("c"))).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(request("d"))).toMatchObject({ refused: "rate_limited" })
      }),
    )

    describe("sessions", () => {
      const claimOf = (id: string, more: Partial<SessionClaim> = {}): SessionClaim => ({
        id,
        caller: "key",
        windowMs: 400,
        cap: 2,
        enforces: true,
        ifUnknown: "register",
        ...more,
      })
      const enter = (caller: AdmitRequest, id: string, more: Partial<SessionClaim> = {}) =>
        Effect.flatMap(Gate, (gate) => gate.admit({ ...caller, session: claimOf(id, more) })).pipe(
          Effect.map((admission) =>
            admission._tag === "Admitted" ? { ...admission.session } : { told: admission._tag },
          ),
          Effect.catch((error) =>
            Effect.succeed(error._tag === "ServiceError" ? { refused: error.code } : { broken: error.store }),
          ),
        )
      const registered = { entry: "registered", wouldReject: false }

      it.effect("are registered up to the cap, renewed inside the window, and judged anew outside of it", () =>
        Effect.gen(function* () {
          const caller = newCaller()
          expect(yield* enter(caller, "a")).toEqual(registered)
          expect(yield* enter(caller, "b")).toEqual(registered)
          expect(yield* enter(caller, "c")).toEqual({ refused: "plan_concurrency_exceeded" })
          expect(yield* enter(caller, "a")).toEqual({ entry: "renewed", wouldReject: false })
          yield* Effect.sleep(450)
          expect(yield* enter(caller, "c")).toEqual(registered)
          expect(yield* enter(caller, "b")).toEqual({ entry: "reentered", wouldReject: false })
          expect(yield* enter(caller, "a")).toEqual({ refused: "plan_concurrency_exceeded" })
        }),
      )

      it.effect("a full plan that does not enforce only tells", () =>
        Effect.gen(function* () {
          const caller = newCaller()
          for (const id of ["a", "b"]) yield* enter(caller, id)
          expect(yield* enter(caller, "c", { enforces: false })).toEqual({ entry: "registered", wouldReject: true })
        }),
      )

      it.effect("belong to their caller, end for ever, and are asked for where the gate forgot them", () =>
        Effect.gen(function* () {
          const caller = newCaller()
          const gate = yield* Gate
          yield* enter(caller, "a")
          expect(yield* enter(caller, "a", { caller: "other" })).toEqual({ refused: "not_found" })
          yield* gate.endSession(caller.owner, "a", "key", "archive")
          expect(yield* enter(caller, "a")).toEqual({ refused: "session_archived" })
          expect(yield* gate.activeSessions(caller.owner, 400)).toBe(0)
          expect(yield* enter(caller, "b", { ifUnknown: "report" })).toEqual({ told: "UnknownSession" })
          const nowMs = Date.now()
          expect(yield* enter(caller, "b", { lastSeenMs: nowMs - 10 })).toEqual({
            entry: "renewed",
            wouldReject: false,
          })
          expect(yield* enter(caller, "c", { lastSeenMs: nowMs - 10_000 })).toMatchObject({ entry: "reentered" })
          yield* gate.endSession(caller.owner, "c", "key", "forget")
          expect(yield* enter(caller, "c", { ifUnknown: "report" })).toEqual({ told: "UnknownSession" })
        }),
      )

      it.effect("500 at once are exactly as many as the plan has room for; the peak is told by its hour", () =>
        Effect.gen(function* () {
          const caller = newCaller()
          const gate = yield* Gate
          const outcomes = yield* Effect.forEach(
            Array.from({ length: 500 }, (_, at) => `s${at}`),
            (id) => enter(caller, id, { cap: 20, windowMs: 60_000 }),
            { concurrency: "unbounded" },
          )
          expect(outcomes.filter((outcome) => "entry" in outcome).length).toBe(20)
          expect(yield* gate.activeSessions(caller.owner, 60_000)).toBe(20)
          const peaks = yield* gate.peaks(caller.owner, dayOf(Date.now()))
          expect(peaks.filter((peak) => peak !== undefined)).toEqual([20])
        }),
      )

      it.effect("what is refused has counted nothing", () =>
        Effect.gen(function* () {
          const caller = { ...newCaller(), rates: [windowOf(1, 60_000)] }
          yield* enter({ ...caller, rates: [] }, "a", { caller: "other" })
          expect(yield* enter(caller, "a")).toEqual({ refused: "not_found" })
          expect(yield* enter(caller, "b")).toEqual(registered)
        }),
      )
    })

    it.effect("a count of the day refuses at its limit with what was used, and can be given back", () =>
      Effect.gen(function* () {
        const gate = yield* Gate
        const counts = [
          { bucket: "websearch", limit: 2, day: dayOf(Date.now()), code: "websearch_quota_exceeded" as const },
        ]
        const caller = { ...newCaller(), counts }
        for (let at = 0; at < 2; at++) expect(yield* outcome(caller)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(caller)).toMatchObject({
          refused: "websearch_quota_exceeded",
          detail: { limit: 2, used: 2 },
        })
        yield* gate.giveBack(caller.owner, counts)
        expect(yield* outcome(caller)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(caller)).toMatchObject({ detail: { limit: 2, used: 2 } })
      }),
    )

    it.effect("an end user's bucket refuses with detail.scope = endUser, and another end user passes", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const as = (user: string) => ({
          ...caller,
          rates: [{ ...windowOf(1, 60_000, "endUser"), bucket: `endUser:${user}` }],
        })
        expect(yield* outcome(as("ada"))).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(as("ada"))).toMatchObject({ refused: "rate_limited", detail: { scope: "endUser" } })
        expect(yield* outcome(as("bob"))).toEqual({ admitted: "Admitted" })
      }),
    )

    it.effect("a refusal by one window counts in none", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const both = { ...caller, rates: [windowOf(3, 60_000), windowOf(1, 60_000, "app")] }
        yield* outcome(both)
        for (let at = 0; at < 5; at++) expect(yield* outcome(both)).toMatchObject({ detail: { scope: "app" } })
        const wide = { ...caller, rates: [windowOf(3, 60_000)] }
        expect(yield* outcome(wide)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(wide)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(wide)).toMatchObject({ refused: "rate_limited" })
      }),
    )

    it.effect("a window is exact under 200 concurrent calls", () =>
      Effect.gen(function* () {
        const request = { ...newCaller(), rates: [windowOf(50, 60_000)] }
        const all = yield* Effect.all(
          Array.from({ length: 200 }, () => outcome(request)),
          { concurrency: "unbounded" },
        )
        expect(all.filter(({ admitted }) => admitted === "Admitted").length).toBe(50)
      }),
    )

    it.effect("a nonce passes once for a key, and again for another key", () =>
      Effect.gen(function* () {
        const request = { ...newCaller(), nonce: randomUUID() }
        expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
        expect(yield* outcome(request)).toMatchObject({ refused: "nonce_replayed" })
        expect(yield* outcome({ ...request, keyId: "other" })).toEqual({ admitted: "Admitted" })
      }),
    )

    it.effect("what one key's clients send is not what another's do, whose id begins with it", () =>
      Effect.gen(function* () {
        const caller = newCaller()
        const send = (keyId: string, requestId: string, nonce: string) =>
          outcome({
            ...caller,
            keyId,
            nonce,
            register: { requestId, payloadHash: keyId.replace(":", ""), leaseMs: 60_000, claim: "mine" },
          })
        expect(yield* send("a", "b:c", "b:n")).toEqual({ admitted: "Admitted" })
        expect(yield* send("a:b", "c", "n")).toEqual({ admitted: "Admitted" })
        expect(yield* send("a", "b:c", "b:m")).toEqual({ admitted: "InProgress" })
        expect(yield* send("a:b", "d", "n")).toMatchObject({ refused: "nonce_replayed" })
      }),
    )

    it.effect("an idempotency key: in progress, conflict, completed, replayable or not, withdrawn, expired", () =>
      Effect.gen(function* () {
        const { complete, withdraw } = yield* Gate
        const caller = newCaller()
        const register = (requestId: string, payloadHash = "h", leaseMs = 60_000) =>
          outcome({ ...caller, register: { requestId, payloadHash, leaseMs, claim: "mine" } })
        const ref = (requestId: string) => ({ owner: caller.owner, keyId: caller.keyId, requestId, claim: "mine" })

        expect(yield* register("a")).toEqual({ admitted: "Admitted" })
        expect(yield* register("a")).toEqual({ admitted: "InProgress" })
        expect(yield* register("a", "other")).toMatchObject({ refused: "idempotency_conflict" })
        yield* complete(ref("a"), "h", true)
        expect(yield* register("a")).toEqual({ admitted: "Completed" })
        expect(yield* register("a", "other")).toMatchObject({ refused: "idempotency_conflict" })
        yield* withdraw(ref("a"))
        expect(yield* register("a")).toEqual({ admitted: "Completed" })

        yield* register("b")
        yield* complete(ref("b"), "h", false)
        expect(yield* register("b")).toMatchObject({ refused: "idempotency_conflict", detail: { replayable: false } })

        yield* register("c")
        yield* withdraw(ref("c"))
        expect(yield* register("c", "other")).toEqual({ admitted: "Admitted" })

        yield* register("d", "h", 200)
        yield* Effect.sleep(250)
        expect(yield* register("d")).toEqual({ admitted: "Admitted" })
      }),
    )

    it.effect("of 200 concurrent claims on one key, one is admitted", () =>
      Effect.gen(function* () {
        const request = {
          ...newCaller(),
          register: { requestId: "r", payloadHash: "h", leaseMs: 60_000, claim: "mine" },
        }
        const all = yield* Effect.all(
          Array.from({ length: 200 }, () => outcome(request)),
          { concurrency: "unbounded" },
        )
        expect(all.filter(({ admitted }) => admitted === "Admitted").length).toBe(1)
        expect(all.filter(({ admitted }) => admitted === "InProgress").length).toBe(199)
      }),
    )
  })

contract("the gate in memory", memory)

describe.skipIf(redisUrl === undefined)("on Redis", () => {
  if (redisUrl === undefined) return
  contract("the gate on Redis", layerRedis.pipe(Layers.provide(Redis.layer), Layers.provide(config)))
})

describe("the gate in memory, by the test clock", () => {
  it.effect("forgets a nonce after 600 s, not before", () =>
    Effect.gen(function* () {
      const request = { ...newCaller(), nonce: "n" }
      yield* outcome(request)
      yield* TestClock.adjust("599 seconds")
      expect(yield* outcome(request)).toMatchObject({ refused: "nonce_replayed" })
      yield* TestClock.adjust("2 seconds")
      expect(yield* outcome(request)).toEqual({ admitted: "Admitted" })
    }).pipe(Effect.provide(memory)),
  )
})
