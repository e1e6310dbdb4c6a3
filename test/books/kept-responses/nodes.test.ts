/** Kept responses on two nodes, which share a database: there in the next millisecond, everywhere. */
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startGateway, type TestGateway, testCatalogue } from "../../../src/testing/gateway.ts"
import { answering, newTestIds } from "../../../src/testing/index.ts"
import { testStores } from "../../../src/testing/stores.ts"

const onServers = (process.env["SVC_TEST_DATABASE_URL"] ?? "") !== ""
const ids = newTestIds()

describe.skipIf(!onServers)("kept responses of two nodes", () => {
  const scope = Scope.makeUnsafe()
  const nodes: Array<TestGateway> = []
  beforeAll(async () => {
    const stores = await Effect.runPromise(Scope.provide(testStores, scope))
    const options = {
      ids,
      // A slow test machine must not refuse calls.
      config: {
        ...stores,
        masterKey: Redacted.make("of both nodes"),
        redisDeadlineMs: 30_000,
        databaseDeadlineMs: 30_000,
      },
      catalogue: (urls: { readonly vendor: string; readonly second: string }) =>
        testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
      script: answering({ words: ["ok"], inTokens: 10, outTokens: 5 }),
    }
    for (const _ of [1, 2]) nodes.push(await Effect.runPromise(Scope.provide(startGateway(options), scope)))
  }, 120_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const send = async (node: number, method: string, path: string, body?: object) => {
    const gateway = nodes[node] ?? nodes[0]
    if (gateway === undefined) throw new Error("no gateway has started")
    const reply = await gateway.call(method, `/openai/v1/responses${path}`, body, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
      authorization: `Bearer ${gateway.keyId}~${gateway.key}`,
    })
    const json: Record<string, unknown> = JSON.parse(await reply.text())
    return { status: reply.status, json, id: String(json["id"]) }
  }
  const create = (node: number, input: string, more: object = {}) =>
    send(node, "POST", "", { model: "pool", max_output_tokens: 10, input, ...more })

  it("one made by a node is continued by the other at once, a thousand times", async () => {
    const turns = Array.from({ length: 1000 }, (_, turn) => turn)
    const lanes = Array.from({ length: 10 }, async (_, lane) => {
      for (const turn of turns.filter((each) => each % 10 === lane)) {
        const made = await create(turn % 2, `first ${turn}`)
        const continued = await create((turn + 1) % 2, `second ${turn}`, { previous_response_id: made.id })
        expect(
          [made.status, continued.status, continued.json["previous_response_id"]],
          JSON.stringify(made.json),
        ).toEqual([200, 200, made.id])
      }
    })
    await Promise.all(lanes)
    const sent = nodes.flatMap(({ vendor }) => vendor.calls.map(({ body }) => JSON.stringify(body["messages"])))
    for (const turn of turns) {
      expect(sent.filter((each) => each.includes(`"first ${turn}"`) && each.includes(`"second ${turn}"`))).toHaveLength(
        1,
      )
    }
  }, 120_000)

  it("one that runs on a node is read, followed and cancelled by the other", async () => {
    let go = () => {}
    const gone = new Promise<void>((resolve) => {
      go = resolve
    })
    // The catalogue of the node that was started last is in force.
    const { vendor } = nodes[1] ?? {}
    vendor?.script(async (call) => {
      await gone
      await answering({ words: ["slow", " answer"], inTokens: 10, outTokens: 5 })(call)
    })
    const slow = await create(0, "x", { background: true })
    expect((await send(1, "GET", `/${slow.id}`)).json).toMatchObject({ status: "in_progress" })
    const gateway = nodes[1]
    const followed = gateway?.call("GET", `/openai/v1/responses/${slow.id}?stream=true`, undefined, {
      "x-svc-key-id": undefined,
      "x-svc-key": undefined,
      authorization: `Bearer ${gateway.keyId}~${gateway.key}`,
    })
    go()
    const events = await (await followed)?.text()
    expect(events).toMatch(/response\.created.*response\.queued.*slow.*response\.completed/s)
    expect((await send(1, "GET", `/${slow.id}`)).json).toMatchObject({ status: "completed" })

    vendor?.script(async (call) => await call.wait(30_000))
    const stuck = await create(0, "x", { background: true })
    expect((await send(1, "POST", `/${stuck.id}/cancel`)).json).toMatchObject({ status: "cancelled" })
    await expect.poll(() => vendor?.calls.at(-1)?.hungUpAt, { timeout: 10_000 }).toBeDefined()
    expect((await send(0, "GET", `/${stuck.id}`)).json).toMatchObject({ status: "cancelled" })
  })
})
