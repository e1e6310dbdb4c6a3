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

  it("give back what they have not used when they stop, and a new window begins anew", async () => {
    const [one, other] = await Promise.all([startGate(), startGate()])
    const owner = `org_${randomUUID()}`
    const request = asking(owner, 1000, 3000)
    for (let call = 0; call < 100; call++) expect(await isAdmitted(one.gate, request)).toBe(true)
    await one.stop()
    const client = new Client(redisUrl ?? "")
    expect(Number(await client.get(`weir:{${owner}}:rate:key:k`))).toBe(100)
    await new Promise((resolve) => setTimeout(resolve, 3100))
    expect(await client.get(`weir:{${owner}}:rate:key:k`)).toBeNull()
    let admitted = 0
    for (let call = 0; call < 1100; call++) if (await isAdmitted(other.gate, request)) admitted++
    expect(admitted).toBe(1000)
    client.disconnect()
    await other.stop()
  }, 30_000)

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
