/** Errors of an exchange whose vendor fails: one code, no vendor text, and the right bill. */
import { randomUUID } from "node:crypto"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { TierTimesReply } from "../../src/protocol/control/admin.ts"
import { countIn } from "../../src/telemetry/buckets.ts"
import {
  answering,
  hello,
  newTestIds,
  openaiChunk,
  openaiFrame,
  openaiFrames,
  readEvents,
  testCatalogue,
  type VendorScript,
} from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const timeouts = { connect: 300, ttfb: 600, idle: 400, total: 2500 }
const gateway = useGateway({ backgroundSpeed: 10, config: { upstreamTimeouts: timeouts, streamHeartbeatMs: 100 } })
/** A gateway with the default timeouts: on a busy machine, six megabytes take longer than the short ones allow. */
const patient = useGateway()

/** A model of its own: measurements are reported by model, and other tests call the other models. */
const measuredModel = `measured-${randomUUID().slice(0, 8)}`
const measuredIds = newTestIds()
const measured = useGateway({
  ids: measuredIds,
  config: { upstreamTimeouts: timeouts, streamHeartbeatMs: 100 },
  catalogue: (urls) => testCatalogue(urls, measuredIds).replace(/\bmain\b/g, measuredModel),
})

const answer = { words: ["fine"], inTokens: 10, outTokens: 1 }
const secret = "the vendor's own words"

const rejecting =
  (status: number): VendorScript =>
  (call) => {
    call.head(status, { "content-type": "application/json" })
    call.end(JSON.stringify({ error: { message: secret, type: "t", code: "c" } }))
  }

const noHoldIsLeft = () => eventually(async () => (await holdsOf(gateway())).every(({ state }) => state !== "held"))

describe("an upstream that refuses", () => {
  it.each([400, 401, 403, 404, 429, 500, 503, 529])(
    "%i becomes 502 upstream_error with the status alone",
    async (status) => {
      gateway().vendor.script(rejecting(status))
      for (const stream of [false, true]) {
        const before = await balanceOf(gateway())
        const response = await gateway().exchange({ ...hello, stream })
        const text = await response.clone().text()
        expect(await errorOf(response)).toMatchObject({
          status: 502,
          code: "upstream_error",
          detail: { upstreamStatus: status },
        })
        expect(text).not.toContain(secret)
        expect(await balanceOf(gateway())).toBe(before)
      }
      await noHoldIsLeft()
    },
  )

  it.each<[string, VendorScript]>([
    ["a redirect", rejecting(302)],
    [
      "a body that is no JSON",
      (call) => {
        call.head(200, { "content-type": "application/json" })
        call.end("<html>")
      },
    ],
    [
      "JSON of another shape",
      (call) => {
        call.head(200, { "content-type": "application/json" })
        call.end(`{"hello":1}`)
      },
    ],
    [
      "a first frame that is an error",
      (call) => {
        call.head()
        call.end(openaiFrame({ error: { message: secret, code: 503 } }))
      },
    ],
    [
      "a frame that is no JSON",
      (call) => {
        call.head()
        call.end("data: {nonsense\n\n")
      },
    ],
    [
      "a frame without end",
      async (call) => {
        call.head()
        for (let sent = 0; sent < 6; sent++) if (!(await call.write("x".repeat(1024 * 1024)))) return
      },
    ],
  ])("%s is upstream_error, and nothing is billed", async (_what, script) => {
    patient().vendor.script(script)
    const before = await balanceOf(patient())
    expect(await errorOf(await patient().exchange({ ...hello, stream: true }))).toMatchObject({
      code: "upstream_error",
    })
    expect(await balanceOf(patient())).toBe(before)
  })

  it("an error frame in mid-stream ends in t.err; its text is never output (lesson 11)", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("some output "))
      call.end(openaiFrame({ error: { message: secret } }))
    })
    const response = await gateway().exchange({ ...hello, stream: true })
    const text = await response.clone().text()
    const events = await readEvents(response)
    expect(text).not.toContain(secret)
    expect(events.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.usage", "t.err"])
    expect(events.at(-1)).toMatchObject({ data: { code: "upstream_error", detail: { upstreamStatus: 502 } } })
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: "upstream_disconnected", out_tokens: 4n })
  })
})

describe("an upstream that disconnects", () => {
  it("refusing connections is upstream_disconnected", async () => {
    expect(await errorOf(await gateway().exchange({ ...hello, model: "nowhere" }))).toMatchObject({
      status: 502,
      code: "upstream_disconnected",
    })
  })

  it.each([false, true])(
    "before its first frame (stream: %s): upstream_disconnected, nothing billed",
    async (stream) => {
      gateway().vendor.script((call) => call.reset())
      const before = await balanceOf(gateway())
      expect(await errorOf(await gateway().exchange({ ...hello, stream }))).toMatchObject({
        code: "upstream_disconnected",
      })
      expect(await balanceOf(gateway())).toBe(before)
    },
  )

  it("in mid-stream: t.usage, then t.err; the output seen is billed (lesson 11)", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("half an answer"))
      await call.wait(50)
      call.reset()
    })
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.usage", "t.err"])
    expect(events[2]).toMatchObject({ data: { estimatedReason: "upstream_disconnected" } })
  })

  it("a stream without [DONE] after a finish reason is complete", async () => {
    gateway().vendor.script((call) => {
      call.head()
      call.end(openaiChunk("all") + openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] }))
    })
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.at(-1)).toMatchObject({
      event: "t.close",
      data: { stop: "max_tokens", usage: { estimatedReason: "upstream_usage_missing" } },
    })
  })
})

describe("timeout tiers over real sockets", () => {
  const stalling: Record<string, VendorScript> = {
    ttfb: () => undefined,
    idle: async (call) => {
      call.head(200, call.streaming ? undefined : { "content-type": "application/json" })
      await call.write(call.streaming ? openaiChunk("a word") : `{"choices":`)
    },
    total: async (call) => {
      call.head(200, call.streaming ? undefined : { "content-type": "application/json" })
      for (let at = 0; at < 100; at++) {
        if (!(await call.write(call.streaming ? openaiChunk("tick") : " "))) return
        await call.wait(50)
      }
    },
  }
  it.each(["ttfb", "idle"])("%s, not streaming: 504 with the tier and its time; the upstream is cut", async (tier) => {
    gateway().vendor.script(stalling[tier] ?? (() => undefined))
    const error = await errorOf(await gateway().exchange(hello))
    expect(error).toMatchObject({
      status: 504,
      code: `upstream_${tier}_timeout`,
      detail: { tier, timeoutMs: timeouts[tier === "ttfb" ? "ttfb" : "idle"] },
    })
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
  })

  it.each(["idle", "total"] as const)("%s, streaming: t.err with the tier; what was seen is billed", async (tier) => {
    gateway().vendor.script(stalling[tier] ?? (() => undefined))
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.at(-1)).toMatchObject({
      event: "t.err",
      data: { code: `upstream_${tier}_timeout`, detail: { tier, timeoutMs: timeouts[tier] } },
    })
    expect(events.at(-2)).toMatchObject({ event: "t.usage", data: { estimatedReason: "upstream_timeout" } })
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
  })

  it("calls that a tier ended are told beside the times of the others, once each", async () => {
    const from = new Date(Date.now() - 86_400_000).toISOString()
    const observed = async () => {
      const response = await measured().call("GET", `/v1/admin/tier-times?from=${from}`, undefined, {
        "x-svc-admin-key": measured().adminKey,
      })
      const { data } = Schema.decodeUnknownSync(TierTimesReply)(await response.json())
      const rows = data.filter(({ model }) => model === measuredModel)
      return Object.fromEntries(rows.map(({ tier, ended, buckets }) => [tier, [ended, countIn(buckets)]]))
    }
    for (const [tier, stream] of [
      ["ttfb", false],
      ["idle", true],
    ] as const) {
      measured().vendor.script(stalling[tier] ?? (() => undefined))
      await (await measured().exchange({ ...hello, model: measuredModel, stream })).text()
    }
    await eventually(async () => (await observed())["idle"]?.[0] === 1)
    expect(await observed()).toMatchObject({ ttfb: [1, 1], idle: [1, 0] })
  })

  it("lesson 4: heartbeats commit a silent stream to 200 before the first frame; a later error is t.err", async () => {
    gateway().vendor.script(() => undefined)
    const response = await gateway().exchange({ ...hello, stream: true })
    expect(response.status).toBe(200)
    const text = await response.clone().text()
    expect(text.startsWith(": hb\n\n")).toBe(true)
    const events = await readEvents(response)
    expect(events.map(({ event }) => event)).toEqual(["t.err"])
    expect(events[0]).toMatchObject({ data: { code: "upstream_ttfb_timeout" } })
    await noHoldIsLeft()
  })

  it("lesson 4: heartbeats are written between events, never inside one", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      for (const half of [openaiChunk("slow").slice(0, 30), openaiChunk("slow").slice(30)]) {
        await call.write(half)
        await call.wait(220)
      }
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const text = await (await gateway().exchange({ ...hello, stream: true })).text()
    expect(text.match(/: hb/g)?.length).toBeGreaterThanOrEqual(2)
    for (const block of text.split("\n\n").filter((block) => block !== "")) {
      expect(block === ": hb" || /^id: \d+\nevent: t\.\w+\ndata: .*$/.test(block)).toBe(true)
    }
  })

  it("lesson 5: keep-alive comments reset the idle timeout, but do not count as the first frame", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("thinking"))
      // Together longer than the idle timeout; each pause far shorter, for machines that stall.
      for (let at = 0; at < 10; at++) {
        await call.wait(50)
        await call.write(": OPENROUTER PROCESSING\n\n")
      }
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const alive = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(alive.at(-1)).toMatchObject({ event: "t.close" })
    gateway().vendor.script(async (call) => {
      call.head()
      for (let at = 0; at < 10 && (await call.write(": keep-alive\n\n")); at++) await call.wait(100)
    })
    const silent = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(silent.at(-1)).toMatchObject({ data: { code: "upstream_ttfb_timeout" } })
  })
})

describe("after the vendor's terminal event", () => {
  it("is empty: neither content nor usage", async () => {
    const frames = openaiFrames({ words: ["whole"], inTokens: 10, outTokens: 1 }).join("")
    const more = openaiFrames({ words: ["more"], inTokens: 9999, outTokens: 9999 }).join("")
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(frames + more)
      call.end()
    })
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.filter(({ event }) => event === "t.delta")).toMatchObject([{ data: { v: "whole" } }])
    expect(events.at(-1)).toMatchObject({ event: "t.close", data: { usage: { inTokens: 10, outTokens: 1 } } })
  })
})

describe("failover", () => {
  /** A target that was busy is asked again after a second. */
  const preferredAnswers = async () => {
    gateway().vendor.script(answering(answer))
    await eventually(async () => {
      const before = gateway().vendor.calls.length
      await (await gateway().exchange({ ...hello, model: "pool" })).text()
      return gateway().vendor.calls.length > before
    })
  }

  it.each<[string, VendorScript]>([
    ["429", rejecting(429)],
    ["500", rejecting(500)],
    ["a reset", (call) => call.reset()],
    ["a first frame that does not come", () => undefined],
  ])("on %s before the first frame the next target answers, with a warning", async (_what, script) => {
    await preferredAnswers()
    gateway().vendor.script(script)
    gateway().second.script(answering(answer))
    const events = await readEvents(await gateway().exchange({ ...hello, model: "pool", stream: true }))
    expect(events.find(({ event }) => event === "t.warn")).toMatchObject({
      data: { code: "vendor_failover", detail: { from: "openai", to: "second" } },
    })
    expect(events.at(-1)?.event).toBe("t.close")
    expect(gateway().second.calls.at(-1)?.body).toMatchObject({ model: "b" })
  })

  it("not if the vendor refuses the request, and not after the first frame", async () => {
    await preferredAnswers()
    const calls = gateway().second.calls.length
    gateway().vendor.script(rejecting(400))
    expect((await gateway().exchange({ ...hello, model: "pool" })).status).toBe(502)
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("begun"))
      await call.wait(50)
      call.reset()
    })
    const events = await readEvents(await gateway().exchange({ ...hello, model: "pool", stream: true }))
    expect(events.at(-1)?.event).toBe("t.err")
    expect(gateway().second.calls.length).toBe(calls)
  })
})
