/** Rates leased to nodes, on a real Redis: four gates, random load, one that is killed, limits far and near. */
import { randomUUID } from "node:crypto"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { Redis as Client } from "ioredis"
import { describe, expect, it } from "vitest"
import { type AdmitRequest, Gate } from "../../../src/admission/gate.ts"
import { layerRedis } from "../../../src/admission/gate-redis.ts"
import { WeirConfig } from "../../../src/config.ts"
import { Redis } from "../../../src/store/redis.ts"

const redisUrl = process.env["SVC_TEST_REDIS_URL"]
const config = Layer.effect(
  WeirConfig,
  Effect.map(WeirConfig, (known) => ({ ...known, redisUrl: Redacted.make(redisUrl ?? "") })),
).pipe(Layer.provide(WeirConfig.layer))

const startGate = async () => {
  const scope = Effect.runSync(Scope.make())
  const context = await Effect.runPromise(
    Layer.buildWithScope(layerRedis.pipe(Layer.provide(Redis.layer), Layer.provide(config)), scope),
  )
  const gate = Effect.runSync(Effect.provideContext(Gate, context))
  return { gate, stop: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

const asking = (owner: string, limit: number, windowMs = 60_000): AdmitRequest => ({
  owner,
  keyId: "k",
  rates: [{ bucket: "key:k", limit, windowMs }],
})
const isAdmitted = (gate: Gate["Service"], request: AdmitRequest): Promise<boolean> =>
  Effect.runPromise(Effect.match(gate.admit(request), { onSuccess: () => true, onFailure: () => false }))

describe.skipIf(redisUrl === undefined)("four nodes", () => {
  it.each([1, 10, 600, 20_000])(
    "never admit more than %i, and all of them while they are asked for",
    async (limit) => {
      const nodes = await Promise.all(Array.from({ length: 4 }, startGate))
      const owner = `org_${randomUUID()}`
      const request = asking(owner, limit)
      let admitted = 0
      const load = async (gate: Gate["Service"], calls: number) => {
        for (let call = 0; call < calls; call++) {
          if (await isAdmitted(gate, request)) admitted++
          if (call % 50 === 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
        }
      }
      // More is asked for than there is, by eight at once at each node.
      const calls = Math.ceil((limit * 1.2) / 32) + 5
      await Promise.all(nodes.flatMap(({ gate }) => Array.from({ length: 8 }, () => load(gate, calls))))
      expect(admitted).toBeLessThanOrEqual(limit)
      // Idle shares are back after two seconds.
      await new Promise((resolve) => setTimeout(resolve, 2600))
      const [first] = nodes
      for (let call = 0; call < 5000 && admitted < limit; call++) {
        if (first !== undefined && (await isAdmitted(first.gate, request))) admitted++
        else break
      }
      expect(admitted).toBe(limit)
      expect(await Promise.all(nodes.map(({ gate }) => isAdmitted(gate, request)))).toEqual([
        false,
        false,
        false,
        false,
      ])
      await Promise.all(nodes.map(({ stop }) => stop()))
    },
    60_000,
  )

  it("give back what they have not used when they stop", async () => {
    const [one, other] = await Promise.all([startGate(), startGate()])
    const owner = `org_${randomUUID()}`
    const request = asking(owner, 1000)
    for (let call = 0; call < 100; call++) expect(await isAdmitted(one.gate, request)).toBe(true)
    await one.stop()
    const client = new Client(redisUrl ?? "")
    expect(Number(await client.hget(`weir:{${owner}}:rates:key:k:60000`, "sum"))).toBe(100)
    let admitted = 0
    for (let call = 0; call < 1100; call++) if (await isAdmitted(other.gate, request)) admitted++
    expect(admitted).toBe(900)
    client.disconnect()
    await other.stop()
  }, 30_000)

  it("let no more than the limit through at the edge of a window, and forget it when it is over", async () => {
    const nodes = await Promise.all([startGate(), startGate()])
    const owner = `org_${randomUUID()}`
    const [limit, windowMs] = [20, 2000]
    /** Between these times each call was counted: an answer may be late on a busy machine. */
    const calls: Array<{ readonly askedAt: number; readonly answeredAt: number }> = []
    const endAt = Date.now() + 6000
    while (Date.now() < endAt) {
      for (const { gate } of nodes) {
        const askedAt = Date.now()
        if (await isAdmitted(gate, asking(owner, limit, windowMs))) calls.push({ askedAt, answeredAt: Date.now() })
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const inWindow = calls.map(
      ({ askedAt: from }) => calls.filter((call) => call.askedAt >= from && call.answeredAt < from + windowMs).length,
    )
    expect(Math.max(...inWindow)).toBe(limit)
    expect(calls.length).toBeGreaterThanOrEqual(3 * limit)
    await new Promise((resolve) => setTimeout(resolve, windowMs + 2500))
    const client = new Client(redisUrl ?? "")
    expect(await client.exists(`weir:{${owner}}:rates:key:k:${windowMs}`)).toBe(0)
    client.disconnect()
    await Promise.all(nodes.map(({ stop }) => stop()))
  }, 30_000)

  it("go on after the clock of the store went back, and are not full for ever", async () => {
    const { gate, stop } = await startGate()
    const owner = `org_${randomUUID()}`
    const [limit, windowMs] = [10, 1000]
    // The counts of a former server, whose clock was an hour ahead.
    const key = `weir:{${owner}}:rates:key:k:${windowMs}`
    const ahead = Math.floor((Date.now() + 3_600_000) / 10)
    const client = new Client(redisUrl ?? "")
    await client.hset(key, { sum: 8, from: ahead, [ahead]: 8 })
    await client.pexpire(key, 3000)
    const admitted = async () => {
      let count = 0
      while (await isAdmitted(gate, asking(owner, limit, windowMs))) count++
      return count
    }
    expect(await admitted()).toBe(2)
    // Its calls keep the counter.
    for (let round = 0; round < 5; round++) {
      await new Promise((resolve) => setTimeout(resolve, windowMs + 50))
      expect(await admitted()).toBe(limit)
    }
    client.disconnect()
    await stop()
  }, 20_000)

  it("never run more calls at a time than the limit, and leave them when they end or stop", async () => {
    const nodes = await Promise.all(Array.from({ length: 4 }, startGate))
    const owner = `org_${randomUUID()}`
    const slots = [{ bucket: "c:app:a:", limit: 10, scope: "app" as const }]
    const request: AdmitRequest = { owner, keyId: "k", rates: [], slots }
    let [running, most, runs] = [0, 0, 0]
    const caller = async (gate: Gate["Service"]) => {
      for (let call = 0; call < 30; call++) {
        const admission = await Effect.runPromise(Effect.option(gate.admit(request)))
        if (admission._tag === "Some" && admission.value._tag === "Admitted" && admission.value.counted !== undefined) {
          running++
          runs++
          most = Math.max(most, running)
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 15))
          running--
          await Effect.runPromise(gate.ended(request, admission.value.counted, { all: 0, uncached: 0 }))
        } else await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    await Promise.all(nodes.flatMap(({ gate }) => Array.from({ length: 8 }, () => caller(gate))))
    expect(most).toBe(10)
    expect(runs).toBeGreaterThan(100)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const [first, ...others] = nodes
    const at = (node: number): Gate["Service"] => nodes[node]?.gate ?? expect.unreachable()
    for (let call = 0; call < 10; call++) expect(await isAdmitted(at(call % 4), request)).toBe(true)
    expect(await isAdmitted(at(1), request)).toBe(false)
    // A node that stops in order leaves its calls.
    for (const { stop } of others) await stop()
    expect(first && (await isAdmitted(first.gate, request))).toBe(true)
    await first?.stop()
  }, 60_000)

  it("count a call with a request id like any other, also while they have shares", async () => {
    const { gate, stop } = await startGate()
    const owner = `org_${randomUUID()}`
    const request = asking(owner, 400)
    let admitted = 0
    for (let call = 0; call < 500; call++) {
      const requestId = `id-${call}`
      const named: AdmitRequest = {
        ...request,
        register: { requestId, claim: requestId, payloadHash: "h", leaseMs: 60_000 },
      }
      if (await isAdmitted(gate, call % 2 === 0 ? request : named)) admitted++
    }
    expect(admitted).toBe(400)
    await stop()
  })
})
