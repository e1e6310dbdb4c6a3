/** Pools over real sockets: weights, breakers, Retry-After, and that failover never bills twice. */
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { answering, hello, newTestIds, readEvents, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, replyOf, useGateway } from "../support/gateway.ts"

const answer = { words: ["Hello"], inTokens: 1000, outTokens: 200 }
const ids = newTestIds()

const models = (names: ReadonlyArray<string>, targets: string) =>
  names.map((name) => `  - { handle: ${name}, maxOutput: 100, targets: [${targets}] }`).join("\n")

/** Each test has a pool of its own, because a target's state is kept. */
const pools = ["tried", "resting", "recovering", "shared", "once", "capable"]
const prices = ["single", ...pools, "weighted"].map(
  (model) => `  - { model: ${model}, currency: USD, input: "3", output: "15", from: 2026-01-01 }`,
)

const catalogue = (urls: { readonly vendor: string; readonly second: string }) =>
  testCatalogue(urls, ids)
    .replace(
      "models:\n",
      `models:\n${[
        ...pools.map((name) =>
          models(
            [name],
            `{ vendor: openai, model: ${name}-a, tier: 1 }, { vendor: second, model: ${name}-b, tier: 2 }`,
          ),
        ),
        models(["single"], "{ vendor: openai, model: single }"),
        models(
          ["weighted"],
          "{ vendor: openai, model: w, weight: 3 }, { vendor: second, model: w, weight: 1 }, { vendor: unreachable, model: w, weight: 0 }",
        ),
      ].join("\n")}\n`,
    )
    .replace("prices:\n", `prices:\n${prices.join("\n")}\n`)
    .replace("models: [main,", `models: [single, ${pools.join(", ")}, weighted, main,`)

const gateway = useGateway({ catalogue, ids })

const rejecting =
  (status: number, headers: Record<string, string> = {}): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json", ...headers })
    call.end(JSON.stringify({ error: { message: "no" } }))
  }

const ask = (model: string, more: object = {}) => gateway().exchange({ ...hello, model, ...more })
const callsTo = (model: string) =>
  [...gateway().vendor.calls, ...gateway().second.calls].filter(({ body }) => body["model"] === model).length

describe("a compressed reply, which nobody asked for", () => {
  const compressed: VendorScript = (call) => {
    call.head(200, { "content-type": "application/json", "content-encoding": "gzip" })
    void call.write(gzipSync(JSON.stringify({ choices: [{ message: { content: "Hello" } }] }))).then(() => call.end())
  }

  it("is a fault, streamed and whole: the next target answers, and without one the call fails unbilled", async () => {
    gateway().vendor.script(compressed)
    gateway().second.script(answering(answer))
    expect((await replyOf(await ask("pool"))).blocks).toMatchObject([{ v: "Hello" }])
    const before = await balanceOf(gateway())
    for (const stream of [false, true]) {
      expect(await errorOf(await ask("plain", { stream }))).toMatchObject({ status: 502 })
    }
    expect(await balanceOf(gateway())).toBe(before)
  })
})

describe("weights", () => {
  it("equal tiers share by weight, and weight 0 is out of rotation", async () => {
    gateway().vendor.script(answering(answer))
    gateway().second.script(answering(answer))
    const before = gateway().vendor.calls.length
    await Promise.all(Array.from({ length: 200 }, async () => (await ask("weighted")).text()))
    const share = (gateway().vendor.calls.length - before) / 200
    expect(share).toBeGreaterThan(0.6)
    expect(share).toBeLessThan(0.9)
  })

  it("a conversation stays on one vendor, for its prefix cache", async () => {
    const calls = () => [gateway().vendor.calls.length, gateway().second.calls.length]
    const before = calls()
    for (let turn = 0; turn < 8; turn++) await (await ask("weighted", { cache: { key: "conversation" } })).text()
    expect(
      calls()
        .map((count, at) => count - (before[at] ?? 0))
        .sort(),
    ).toEqual([0, 8])
  })
})

describe("breaker", () => {
  it("opens for a failing target, and allows a trial call after the cooldown", { timeout: 20_000 }, async () => {
    gateway().vendor.script(rejecting(500))
    gateway().second.script(answering(answer))
    for (let at = 0; at < 8; at++) expect((await ask("tried")).status).toBe(200)
    const whileFailing = callsTo("tried-a")
    expect(whileFailing).toBeLessThan(8)
    gateway().vendor.script(answering(answer))
    await eventually(async () => {
      await (await ask("tried")).text()
      return callsTo("tried-a") > whileFailing
    }, 10_000)
    const healed = await ask("tried")
    expect(healed.headers.get("x-svc-warnings")).toBeNull()
  })

  it("calls the target if no other is left", async () => {
    gateway().vendor.script(rejecting(503))
    for (let at = 0; at < 8; at++) {
      expect(await errorOf(await ask("single"))).toMatchObject({
        code: "upstream_error",
        detail: { upstreamStatus: 503 },
      })
    }
    expect(callsTo("single")).toBe(8)
    gateway().vendor.script(answering(answer))
    expect((await ask("single")).status).toBe(200)
  })
})

describe("Retry-After", () => {
  it("a target cools down for as long as its vendor asked; then it is called again", { timeout: 20_000 }, async () => {
    gateway().vendor.script(rejecting(429, { "retry-after": "2" }))
    gateway().second.script(answering(answer))
    const events = await readEvents(await ask("resting", { stream: true }))
    expect(events.find(({ event }) => event === "t.warn")).toMatchObject({
      data: { code: "vendor_failover", detail: { from: "openai", to: "second" } },
    })
    gateway().vendor.script(answering(answer))
    const rests = callsTo("resting-a")
    for (let at = 0; at < 5; at++) await (await ask("resting")).text()
    expect(callsTo("resting-a")).toBe(rests)
    await eventually(async () => {
      await (await ask("resting")).text()
      return callsTo("resting-a") > rests
    })
  })

  it("if all targets are cooling down, the reply has Retry-After, and no vendor is called", async () => {
    gateway().vendor.script(rejecting(429, { "retry-after": "40" }))
    gateway().second.script(rejecting(429, { "retry-after-ms": "9000" }))
    const first = await ask("recovering")
    expect(first.headers.get("retry-after")).toBe("9")
    const calls = callsTo("recovering-a") + callsTo("recovering-b")
    const again = await ask("recovering")
    const wait = Number(again.headers.get("retry-after"))
    expect(wait).toBeGreaterThan(6)
    expect(wait).toBeLessThanOrEqual(9)
    expect(await errorOf(again)).toMatchObject({ code: "upstream_error", detail: { upstreamStatus: 429 } })
    expect(callsTo("recovering-a") + callsTo("recovering-b")).toBe(calls)
  })
})

describe("exactly once across failover", () => {
  it("one hold, one bill, one record, and the key replays the second vendor's answer", async () => {
    gateway().vendor.script((call) => call.reset())
    gateway().second.script(answering(answer))
    const holds = (await holdsOf(gateway())).length
    const before = await balanceOf(gateway())
    const meta = { requestId: "failover-once" }
    const [a, b] = await Promise.all([ask("once", { meta }), ask("once", { meta })])
    const good = [a, b].find(({ status }) => status === 200)
    expect([a, b].map(({ status }) => status).sort()).toEqual([200, 202])
    const reply = await replyOf(good ?? a)
    const again = await ask("once", { meta })
    expect(again.headers.get("x-svc-idempotent-replay")).toBe("1")
    expect(await replyOf(again)).toEqual(reply)
    expect((await holdsOf(gateway())).length).toBe(holds + 1)
    expect(before - (await balanceOf(gateway()))).toBe(60_000_000n)
    expect(reply.usage.cost).toBe("0.006")
  })

  it("a target that cannot express a request is skipped for one that can", async () => {
    gateway().vendor.script(answering(answer))
    const file = { t: "file", mime: "application/pdf", url: "https://x.test/a.pdf" }
    const response = await ask("main", { thread: [{ role: "user", blocks: [file] }] })
    expect(await errorOf(response)).toMatchObject({ code: "bad_request", detail: { capability: "file_url" } })
  })
})
