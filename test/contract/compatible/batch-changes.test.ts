/** Changes while a batch runs: of prices, of their currency, of an organisation's own key, and the end of its window. */
import { Effect, Redacted } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import {
  answering,
  type BatchTwin,
  makeOpenaiBatches,
  openaiTwin,
  repeating,
  serveBatches,
  serveTwin,
} from "../../../src/testing/index.ts"
import { chatLine, useBatches } from "../../support/batches.ts"
import { balanceOf } from "../../support/gateway.ts"

let catalogue = ""
const change = (text: string) => {
  const openai = /( {2}- \{ id: openai, .*)\n/
  catalogue = text
    .replace(openai, (entry) => `${entry}${entry.replace("id: openai", "id: distant, batch: vendor")}`)
    .replace("models:\n", "models:\n  - { handle: away, maxOutput: 100, targets: [{ vendor: distant, model: far }] }\n")
    .replace("prices:\n", 'prices:\n  - { model: away, currency: USD, input: "3", output: "15", from: 2026-01-01 }\n')
    .replace("models: [main,", "models: [away, main,")
  return catalogue
}
const config = { masterKey: Redacted.make("a master key of tests") }
const { ids, gateway, loseFiles, create, ended, linesOf, books } = useBatches(change, config)

const admin = async (method: string, path: string, body?: object) => {
  const { adminKey, call } = gateway()
  const reply = await call(method, `/v1/admin/${path}`, body, { "x-svc-admin-key": adminKey })
  expect(reply.status, await reply.clone().text()).toBeLessThan(300)
}
const apply = (text: string) => admin("POST", "catalogue", { text })
afterEach(() => apply(catalogue))

const inEuros = (model: string) =>
  catalogue.replaceAll(`model: ${model}, currency: USD`, `model: ${model}, currency: EUR`)

const hold = () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  return { held, release: () => release() }
}
/** Requests to the vendor of one test. */
let asked = 0
const calls = () => gateway().vendor.calls.slice(asked)
const answer = answering({ words: ["ok"], inTokens: 10, outTokens: 2 })
/** Ten tokens in at 3 and two out at 15 for a million. */
const cost = 0.00006
const costs = async (id: string) => (await books(id)).records.map((record) => Number(record.cost))
const expectBooks = async (id: string, before: bigint) => {
  const { records, findings, left } = await books(id)
  expect([findings, left]).toEqual([[], 0])
  const sum = records.reduce((sum, record) => sum + Number(record.cost), 0)
  expect(Number(before - (await balanceOf(gateway()))) / 1e10).toBeCloseTo(sum, 10)
}

describe("a batch that the gateway runs", () => {
  /** A batch whose requests are with their vendor while something changes. */
  const changing = async (change: () => Promise<void>) => {
    const { held, release } = hold()
    gateway().vendor.script(async (call) => {
      if (JSON.stringify(call.body).includes("first")) await held
      return answer(call)
    })
    const before = await balanceOf(gateway())
    asked = gateway().vendor.calls.length
    const made = await create(Array.from({ length: 17 }, (_, at) => chatLine(`n${at}`, at < 16 ? "first" : "second")))
    await expect.poll(() => calls().length).toBe(16)
    await change()
    release()
    return { made, before }
  }

  it("costs what it cost when it began, though another price is in force by now", async () => {
    const { made, before } = await changing(async () => {
      const from = new Date(Date.now() + 50).toISOString()
      const price = `prices:\n  - { model: main, currency: USD, input: "300", output: "1500", from: ${from} }\n`
      await apply(catalogue.replace("prices:\n", price))
      await new Promise((resolve) => setTimeout(resolve, 1000))
    })
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 17 } })
    expect(await costs(made.id)).toEqual(Array.from({ length: 17 }, () => cost))
    await expectBooks(made.id, before)
  })

  it("costs what the catalogue says when a price is corrected, also beyond what was held", async () => {
    const { made, before } = await changing(() =>
      apply(
        catalogue.replaceAll('model: main, currency: USD, input: "3"', 'model: main, currency: USD, input: "300000"'),
      ),
    )
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 17 } })
    expect(Math.max(...(await costs(made.id)))).toBeGreaterThan(1)
    await expectBooks(made.id, before)
  })

  it("has refusals for what has no price in its currency any more, and bills the rest", async () => {
    const { made, before } = await changing(() => apply(inEuros("main")))
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 16, failed: 1 } })
    const [refused] = await linesOf(batch.error_file_id)
    expect(refused).toMatchObject({
      response: { status_code: 503, body: { error: { code: "pricing_guard_tripped" } } },
    })
    expect(await costs(made.id)).toEqual(Array.from({ length: 16 }, () => cost))
    await expectBooks(made.id, before)
  })

  it("is cancelled when the content of its requests is lost, and what runs is answered and billed", async () => {
    const { made, before } = await changing(async () => loseFiles())
    expect(await ended(made.id)).toMatchObject({
      status: "cancelled",
      request_counts: { completed: 16, failed: 1 },
      error_file_id: null,
    })
    await expectBooks(made.id, before)
  })
})

describe("a batch at a vendor", () => {
  const begin = async (
    plan: Parameters<BatchTwin["plan"]>[0],
    { cancels = true, knows }: { readonly cancels?: boolean; readonly knows?: string } = {},
  ) => {
    const twin = makeOpenaiBatches(repeating)
    twin.plan(plan)
    const served = serveBatches(twin, serveTwin(openaiTwin, repeating))
    gateway().vendor.script((call) => {
      const isUnknown =
        knows !== undefined && call.headers["authorization"] !== knows && call.path.includes("/batches/")
      if (!isUnknown && (cancels || !call.path.endsWith("/cancel"))) return served(call)
      call.head(isUnknown ? 404 : 500, { "content-type": "application/json" })
      return call.end("{}")
    })
    asked = gateway().vendor.calls.length
    const before = await balanceOf(gateway())
    const made = await create(["a", "b", "c", "d"].map((name) => chatLine(name, "Hi", { model: "away" })))
    await expect.poll(() => twin.batches().length, { timeout: 10_000 }).toBe(1)
    return { twin, made, before }
  }
  const setEnd = (id: string, minutes: number) =>
    Effect.runPromise(
      gateway().sql`
        update batches set ends_at = now() - ${minutes}::integer * interval '1 minute' where id = ${id.replace("batch_", "")}`,
    )

  it("costs what it cost when it began, though another price is in force by now", async () => {
    const { made, before } = await begin({ polls: 2 })
    const from = new Date(Date.now() + 50).toISOString()
    await apply(
      catalogue.replace(
        "prices:\n",
        `prices:\n  - { model: away, currency: USD, input: "300000", output: "300000", from: ${from} }\n`,
      ),
    )
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
    expect(Math.max(...(await costs(made.id)))).toBeLessThan(0.01)
    await expectBooks(made.id, before)
  })

  it("has refusals for what has no price in its currency any more, and costs nothing", async () => {
    const { made, before } = await begin({ polls: 1 })
    await apply(inEuros("away"))
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 0, failed: 4 } })
    expect(await costs(made.id)).toEqual([])
    await expectBooks(made.id, before)
  })

  it("is billed though its model has another target by now", async () => {
    const { made, before } = await begin({ polls: 2 })
    await apply(catalogue.replace("{ vendor: distant, model: far }", "{ vendor: openai, model: near }"))
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
    expect(calls().filter(({ path }) => path.endsWith("/chat/completions"))).toEqual([])
    expect(await costs(made.id)).toHaveLength(4)
    await expectBooks(made.id, before)
  })

  it("delivers and bills what was answered when its window ends, and the rest is expired", async () => {
    const { made, before } = await begin({ polls: 1000 })
    await setEnd(made.id, 0)
    const batch = await ended(made.id)
    expect(batch).toMatchObject({ status: "expired", request_counts: { total: 4, completed: 2, failed: 2 } })
    const errors = await linesOf(batch.error_file_id)
    expect(errors.map(({ error }) => error?.code)).toEqual(["batch_expired", "batch_expired"])
    expect(await costs(made.id)).toHaveLength(2)
    await expectBooks(made.id, before)
  })

  it("ends a quarter of an hour after its window, though its vendor does not end it", async () => {
    const { made, before } = await begin({ polls: 1000 }, { cancels: false })
    await setEnd(made.id, 16)
    expect(await ended(made.id)).toMatchObject({ status: "expired", request_counts: { completed: 0, failed: 4 } })
    await expectBooks(made.id, before)
  })

  it.each([1, 1000])(
    "is cancelled where its requests are erased, and costs nothing (its vendor ends after %i polls)",
    async (polls) => {
      const { twin, made, before } = await begin({ polls })
      await admin("DELETE", `orgs/${ids.org}/files?all=true`)
      expect(await ended(made.id)).toMatchObject({ status: "cancelled", request_counts: { completed: 0 } })
      await expectBooks(made.id, before)
      await expect.poll(() => twin.files()).toEqual([])
    },
  )

  it("is cancelled at its vendor when its organisation is disabled", async () => {
    const { twin, made, before } = await begin({ polls: 1000 })
    await admin("PATCH", `orgs/${ids.org}`, { status: "disabled" })
    const isCancelled = () => calls().some(({ path }) => path.endsWith("/cancel"))
    await expect.poll(isCancelled, { timeout: 15_000 }).toBe(true)
    await expect.poll(() => twin.files(), { timeout: 15_000 }).toEqual([])
    await admin("PATCH", `orgs/${ids.org}`, { status: "active" })
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { total: 4 } })
    await expectBooks(made.id, before)
  })

  it("is left to other nodes by one that has not the master key with which it was sealed", async () => {
    const { made, before } = await begin({ polls: 4 })
    const id = made.id.replace("batch_", "")
    const setFacts = (facts: Uint8Array) =>
      Effect.runPromise(gateway().sql`update batches set facts = ${facts} where id = ${id}`)
    const [row] = await Effect.runPromise(
      gateway().sql<{ facts: Uint8Array }>`select facts from batches where id = ${id}`,
    )
    await setFacts(Buffer.from("sealed with another key"))
    await new Promise((resolve) => setTimeout(resolve, 3000))
    await setFacts(row?.facts ?? Buffer.of())
    expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
    expect(calls().filter(({ path }) => path.endsWith("/chat/completions"))).toEqual([])
    await expectBooks(made.id, before)
  })

  it("ends an hour after that, though the content of its requests is lost", async () => {
    const { made, before } = await begin({ polls: 1 })
    loseFiles()
    await setEnd(made.id, 76)
    expect(await ended(made.id)).toMatchObject({ status: "expired", request_counts: { completed: 0, failed: 4 } })
    await expectBooks(made.id, before)
  })

  describe("with an organisation's own key", () => {
    const path = `orgs/${ids.org}/upstream-keys/distant`
    const authorizations = () => new Set(calls().flatMap(({ headers }) => headers["authorization"]?.toString() ?? []))

    it("runs with it, and costs nothing", async () => {
      await admin("PUT", path, { key: "sk-own" })
      const { made, before } = await begin({ polls: 1 })
      expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
      expect([...authorizations()]).toContain("Bearer sk-own")
      expect(await costs(made.id)).toEqual([0, 0, 0, 0])
      await expectBooks(made.id, before)
      await admin("DELETE", path)
    })

    it("is followed with the platform's where that began it, and costs what its vendor bills the platform", async () => {
      const { made, before } = await begin({ polls: 2 })
      await admin("PUT", path, { key: "sk-own" })
      expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
      expect(calls().filter(({ path }) => path.endsWith("/chat/completions"))).toEqual([])
      expect((await costs(made.id)).map((each) => each > 0)).toEqual([true, true, true, true])
      await expectBooks(made.id, before)
      await admin("DELETE", path)
    }, 40_000)

    it("is answered with the new key where that does not know the vendor's batch, and costs nothing", async () => {
      await admin("PUT", path, { key: "sk-own" })
      const { made, before } = await begin({ polls: 1000 }, { knows: "Bearer sk-own" })
      await admin("PUT", path, { key: "sk-new" })
      expect(await ended(made.id)).toMatchObject({ status: "completed", request_counts: { completed: 4 } })
      const alone = calls().filter(({ path }) => path.endsWith("/chat/completions"))
      expect(alone.map(({ headers }) => headers["authorization"])).toEqual(
        Array.from({ length: 4 }, () => "Bearer sk-new"),
      )
      expect(await costs(made.id)).toEqual([0, 0, 0, 0])
      await expectBooks(made.id, before)
      await admin("DELETE", path)
    }, 40_000)

    it("expires where the key is gone, and the platform's is not asked", async () => {
      await admin("PUT", path, { key: "sk-own" })
      const { made, before } = await begin({ polls: 1 })
      await admin("DELETE", path)
      await setEnd(made.id, 16)
      const { status, request_counts: counts } = await ended(made.id)
      expect([status, counts?.completed]).toEqual(["expired", 0])
      expect(authorizations()).toEqual(new Set(["Bearer sk-own"]))
      await expectBooks(made.id, before)
    }, 40_000)
  })
})
