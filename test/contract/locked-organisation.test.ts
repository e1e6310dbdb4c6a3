/** Calls of an organisation whose rows somebody has locked wait; those of others are admitted and answered. Needs a server. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { hello, newTestIds, testCatalogue, testKey } from "../../src/testing/gateway.ts"
import { useGateway } from "../support/gateway.ts"

const isOnServer = process.env["SVC_TEST_DATABASE_URL"] !== undefined
const [locked, other] = [newTestIds(), newTestIds()]

describe.skipIf(!isOnServer)("an organisation whose rows are locked", () => {
  const gateway = useGateway({
    ids: other,
    config: { shedWaitMs: 250 },
    catalogue: (urls) =>
      testCatalogue(urls, other)
        .replace("apps:\n", `apps:\n  - { id: ${locked.app}, org: ${locked.org} }\n`)
        .replace("keys:\n", `keys:\n  - { id: ${locked.key}, app: ${locked.app}, secret: "env:WEIR_TEST_KEY" }\n`)
        .replace("topups:\n", `topups:\n  - { id: ${locked.org}-start, org: ${locked.org}, amount: "1000" }\n`)
        .replace(
          "orgs:\n",
          `orgs:\n  - { id: ${locked.org}, name: Locked, plan: team, currency: USD, models: [main] }\n`,
        ),
  })
  const call = (key: string) =>
    fetch(`${gateway().baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": key, "x-svc-key": testKey },
      body: JSON.stringify(hello),
    }).then(async (reply) => {
      await reply.arrayBuffer()
      return reply.status
    })

  /** Locks the rows for a while. */
  const lock = (meanwhile: Effect.Effect<void>) =>
    Effect.suspend(() => {
      const { sql } = gateway()
      return sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`select from counters where org_id = ${locked.org} for update`
          yield* sql`select from allotments where org_id = ${locked.org} for update`
          yield* meanwhile
        }),
      )
    })
  const slowly = Effect.forever(Effect.andThen(lock(Effect.sleep("700 millis")), Effect.sleep("20 millis")))

  it.each<[how: string, locking: Effect.Effect<unknown, unknown>]>([
    ["locked", lock(Effect.never)],
    ["slow", slowly],
  ])(
    "that is %s keeps no call of another one from being admitted",
    async (_, locking) => {
      expect(await Promise.all([call(locked.key), call(other.key)])).toEqual([200, 200])
      const own: Array<number> = []
      const others: Array<number> = []
      let isOver = false
      const flood = async () => {
        while (!isOver) own.push(await call(locked.key))
      }
      const locks = Effect.runFork(locking)
      const flooding = Array.from({ length: 100 }, flood)
      await sleep(1000)
      for (let round = 0; round < 100; round++) {
        others.push(await call(other.key))
        await sleep(40)
      }
      isOver = true
      await Effect.runPromise(Fiber.interrupt(locks))
      await Promise.all(flooding)
      expect(others.filter((status) => status !== 200)).toEqual([])
      expect(own).toContain(200)
    },
    60_000,
  )
})
