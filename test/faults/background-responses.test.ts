/** A node dies while a response runs on it without its client: it is billed once, and has failed for those who ask. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { testCatalogue, testKey } from "../../src/testing/gateway.ts"
import { newTestIds, startScriptedVendor } from "../../src/testing/index.ts"
import { testStores } from "../../src/testing/stores.ts"
import { openaiFrames } from "../../src/testing/vendor-replies.ts"
import { StartedGateway } from "../support/started-gateway.ts"

const onServers = (process.env["SVC_TEST_DATABASE_URL"] ?? "") !== ""
const ids = newTestIds()

describe.skipIf(!onServers)("a response that runs without its client", () => {
  const scope = Scope.makeUnsafe()
  const started: Array<StartedGateway> = []
  const folder = mkdtempSync(join(tmpdir(), "weir-responses-"))
  const catalogue = join(folder, "catalogue.yaml")
  afterAll(async () => {
    for (const each of started) await each.stop()
    rmSync(folder, { recursive: true })
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("has failed when its node is killed, and is billed once for what came", async () => {
    const { databaseUrl, redisUrl } = await Effect.runPromise(Scope.provide(testStores, scope))
    const vendor = await Effect.runPromise(
      Scope.provide(
        startScriptedVendor(async (call) => {
          call.head()
          const frames = openaiFrames({ words: ["Half", " of", " an", " answer"], inTokens: 10, outTokens: 5 })
          for (const frame of frames.slice(0, 4)) await call.write(frame)
          await call.wait(60_000)
        }),
        scope,
      ),
    )
    const start = async () => {
      const gateway = new StartedGateway({
        SVC_DATABASE_URL: databaseUrl === undefined ? "" : Redacted.value(databaseUrl),
        SVC_REDIS_URL: redisUrl === undefined ? "" : Redacted.value(redisUrl),
        SVC_LEASE_MS: "3000",
        SVC_CHECKPOINT_MS: "500",
        SVC_CATALOGUE: catalogue,
        WEIR_TEST_VENDOR: "vendor-credential",
        WEIR_TEST_KEY: testKey,
      })
      started.push(gateway)
      return { gateway, baseUrl: (await gateway.ready())["baseUrl"] ?? "" }
    }
    writeFileSync(
      catalogue,
      testCatalogue({ vendor: vendor.url, second: vendor.url }, ids).replace(
        "name: Test,",
        'name: Test, keeps: { responses: "30d" },',
      ),
    )
    const first = await start()
    const second = await start()
    const ask = async (baseUrl: string, path: string, init: RequestInit = {}) => {
      const reply = await fetch(`${baseUrl}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${ids.key}~${testKey}`, "content-type": "application/json" },
      })
      const json: Record<string, unknown> = JSON.parse(await reply.text())
      return json
    }
    const begun = await ask(first.baseUrl, "/openai/v1/responses", {
      method: "POST",
      body: JSON.stringify({ model: "main", input: "x", background: true }),
    })
    expect(begun).toMatchObject({ status: "queued" })
    await expect.poll(() => vendor.calls.length).toBe(1)
    // A checkpoint has what came.
    await new Promise((resolve) => setTimeout(resolve, 3000))
    await first.gateway.kill()
    const read = () => ask(second.baseUrl, `/openai/v1/responses/${String(begun["id"])}`)
    await expect.poll(async () => (await read())["status"], { timeout: 40_000, interval: 500 }).toBe("failed")
    expect(await read()).toMatchObject({ error: { code: "server_error" } })
    const events = await fetch(`${second.baseUrl}/openai/v1/responses/${String(begun["id"])}?stream=true`, {
      headers: { authorization: `Bearer ${ids.key}~${testKey}` },
    })
    expect(await events.text()).toMatch(/response\.created.*Half.*response\.failed/s)
    expect(vendor.calls).toHaveLength(1)
    const services = await Effect.runPromise(
      Scope.provide(Layer.build(PgClient.layer({ url: databaseUrl ?? Redacted.make("") })), scope),
    )
    const sql = Context.get(services, PgClient.PgClient)
    const records = () =>
      Effect.runPromise(sql<{ cost: number }>`select cost::float8 as cost from usage_records where org_id = ${ids.org}`)
    await expect.poll(records, { timeout: 20_000 }).toHaveLength(1)
    expect((await records())[0]?.cost).toBeGreaterThan(0)
  }, 120_000)
})
