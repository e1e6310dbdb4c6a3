/** The reply cache: who gets which reply again, at which price, and who does not. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { ReplyCacheReport } from "../../src/protocol/control/reply-cache.ts"
import { answering, hello, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, replyOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
let urls = { vendor: "", second: "" }

/** @param model the fields of `main` @param org the fields of the organisation */
const cached = (model = "replyCache: { ttl: 10m }", org = ""): string =>
  testCatalogue(urls, ids)
    .replace("- handle: main\n", `- handle: main\n    ${model}\n`)
    .replace("model: main, currency: USD,", 'model: main, currency: USD, cachedReply: "0.1",')
    .replace("name: Test,", `name: Test, ${org}`)

const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  // A slow test machine must not make misses.
  config: { replyCacheWaitMs: 30_000 },
  catalogue: (given) => {
    urls = given
    return cached()
  },
})
const apply = (text: string) => Effect.runPromise(gateway().catalogue.apply(text, { prune: true }))

const answer = { words: ["Hello", " ", "there, ", "é\u2028"], inTokens: 1000, outTokens: 200, cachedTokens: 400 }
/** 600 at 3, 400 at 0.3, 200 at 15 a million. */
const full = "0.00492"
const share = "0.000492"

const decodeReport = Schema.decodeUnknownSync(ReplyCacheReport)

let asked = 0
/** A request that was not made before. */
const fresh = (more: object = {}) => ({
  ...hello,
  thread: [{ role: "user", blocks: [{ t: "text", v: `question ${asked++}` }] }],
  ...more,
})
const vendorCalls = () => gateway().vendor.calls.length
const ask = (body: unknown, headers: Record<string, string> = {}) =>
  gateway().call("POST", "/t1/exchange", body, headers)
const stateOf = (reply: Response) => reply.headers.get("x-svc-cache")

/** A reply without the parts that may differ when the same reply comes from the cache. */
const comparable = (text: string) =>
  text
    .replace(/req_[\w-]+/g, "req")
    .replace(/"(cost|balance)":"[^"]*"/g, '"$1":""')
    .replace(/"cache":"(hit|miss)"/g, '"cache":""')

interface RecordRow {
  readonly cost: string
  readonly vendor: string
  readonly in_tokens: bigint
  readonly out_tokens: bigint
  readonly dims: Record<string, number>
  readonly cache_net_saving: string
}
const records = (): Promise<ReadonlyArray<RecordRow>> => {
  const { sql, orgId } = gateway()
  return Effect.runPromise(
    sql<RecordRow>`select cost::text, vendor, in_tokens, out_tokens, dims, cache_net_saving::text
      from usage_records where org_id = ${orgId} order by at`,
  )
}

beforeEach(async () => {
  gateway().vendor.script(answering(answer))
  await apply(cached())
})

describe("a reply", () => {
  it("is given again to an equal request: no vendor is called, and it costs its share", async () => {
    const body = fresh()
    const first = await ask(body)
    expect([first.status, stateOf(first)]).toEqual([200, "miss"])
    const before = { calls: vendorCalls(), balance: await balanceOf(gateway()) }
    // It is kept in the background: until then, a call waits for it.
    await sleep(20)
    const again = await ask(body)
    expect([again.status, stateOf(again)]).toEqual([200, "hit"])
    expect(vendorCalls()).toBe(before.calls)
    const [one, other] = [await first.text(), await again.text()]
    expect(comparable(other)).toBe(comparable(one))
    expect(JSON.parse(one)).toMatchObject({ usage: { cost: full } })
    expect(JSON.parse(other)).toMatchObject({ usage: { cost: share } })
    expect(again.headers.get("x-svc-cost")).toBe(share)
    expect(before.balance - (await balanceOf(gateway()))).toBe(4_920_000n)
    const [miss, hit] = (await records()).slice(-2)
    expect(miss).toMatchObject({ in_tokens: 600n, out_tokens: 200n, dims: { obs_cache_misses: 1 } })
    expect(hit).toMatchObject({
      vendor: "",
      in_tokens: 0n,
      out_tokens: 0n,
      dims: { obs_cached_tokens: 1200, obs_cache_hits: 1 },
    })
    expect([Number(hit?.cost), Number(hit?.cache_net_saving)]).toEqual([0.000492, 0.004428])
  })

  it.each([
    ["a stream from a stream", true, true],
    ["a stream from a whole reply", false, true],
    ["a whole reply from a stream", true, false],
  ])("is %s", async (_, isFirst, isSecond) => {
    const body = fresh()
    const first = await ask({ ...body, stream: isFirst })
    const one = await first.text()
    await sleep(20)
    const again = await ask({ ...body, stream: isSecond })
    expect([stateOf(first), stateOf(again)]).toEqual(["miss", "hit"])
    const other = await again.text()
    if (isFirst === isSecond) expect(comparable(other)).toBe(comparable(one))
    if (isSecond) expect(other).toContain('"cache":"hit"')
    if (!isSecond) {
      const { blocks, stop } = JSON.parse(other)
      expect({ blocks, stop }).toEqual({
        blocks: [{ t: "text", v: answer.words.join(""), cacheable: false }],
        stop: "end",
      })
    }
  })
})

/** Asks until the reply is kept. */
const askedTwice = async (body: object, headers: Record<string, string> = {}) => {
  const first = await ask(body, headers)
  await first.text()
  await sleep(20)
  const second = await ask(body, headers)
  return [stateOf(first), stateOf(second), await second.text()] as const
}

describe("what is kept", () => {
  const messages = (text: string) => [{ role: "user", content: text }]
  /** The same question in four APIs, whole and streamed. */
  const askIn = (text: string, stream: boolean) => ({
    twp: () =>
      ask({
        model: "main",
        thread: [{ role: "user", blocks: [{ t: "text", v: text }] }],
        params: { maxTokens: 500 },
        stream,
      }),
    chat: () =>
      compatible("/openai/v1/chat/completions", { model: "main", messages: messages(text), max_tokens: 500, stream }),
    responses: () =>
      compatible("/openai/v1/responses", { model: "main", input: text, max_output_tokens: 500, stream, store: false }),
    anthropic: () =>
      compatible("/anthropic/v1/messages", { model: "main", messages: messages(text), max_tokens: 500, stream }),
    gemini: () =>
      compatible(`/gemini/v1beta/models/main:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, {
        contents: [{ role: "user", parts: [{ text }] }],
        generationConfig: { maxOutputTokens: 500 },
      }),
  })
  const compatible = (path: string, body: object, headers: Record<string, string> = {}) =>
    gateway().call("POST", path, body, { authorization: `Bearer ${gateway().keyId}~${gateway().key}`, ...headers })

  it.each([false, true])("is one for all APIs but the vendor's own, whole or streamed (%s)", async (stream) => {
    const text = `shared ${asked++}`
    const before = vendorCalls()
    const states: Array<string | null> = []
    for (const one of Object.values(askIn(text, stream))) {
      const reply = await one()
      expect(await reply.text()).toContain("there, ")
      states.push(stateOf(reply))
    }
    for (const one of Object.values(askIn(text, !stream))) states.push(stateOf(await one()))
    // The vendor's own API gets what the vendor sent, whole or as a stream.
    const each = ["hit", "miss", "hit", "hit", "hit"]
    expect(states).toEqual(["miss", ...each.slice(1), ...each])
    expect(vendorCalls() - before).toBe(3)
  })

  it("is neither looked for nor kept with `off`, and made anew with `refresh`", async () => {
    const body = fresh()
    const states: Array<string | null> = []
    const before = vendorCalls()
    for (const reply of ["off", undefined, "off", "refresh", undefined] as const) {
      states.push(stateOf(await ask({ ...body, ...(reply !== undefined && { cache: { reply } }) })))
      await sleep(20)
    }
    expect(states).toEqual([null, "miss", null, "miss", "hit"])
    expect(vendorCalls() - before).toBe(4)
    const refused = await errorOf(await ask({ ...body, cache: { reply: "on" } }))
    expect(refused).toMatchObject({ status: 400, code: "bad_request" })
  })

  it.each([
    [{ "x-svc-cache": "off" }, [null, null]],
    [{ "x-svc-cache": "refresh" }, ["miss", "miss"]],
    [{ "cache-control": "no-store, max-age=0" }, [null, null]],
    [{ "cache-control": "No-Cache" }, ["miss", "miss"]],
    [{ "cache-control": "max-age=5" }, ["miss", "hit"]],
    [{ "x-svc-cache": "refresh", "cache-control": "no-store" }, ["miss", "miss"]],
  ] as const)("follows the headers %j on compatible routes", async (headers, states) => {
    const body = { model: "main", messages: messages(`headers ${asked++}`) }
    for (const state of states) {
      expect(stateOf(await compatible("/openai/v1/chat/completions", body, headers))).toBe(state)
      await sleep(20)
    }
  })

  it("tells numbers apart that are one to a parser, and two to a vendor", async () => {
    const { baseUrl, keyId, key } = gateway()
    const ask = async (most: string) => {
      const [begin = ""] = JSON.stringify({ model: "main", messages: messages("numbers of any size") }).split(/\}$/)
      const schema = `{"type":"object","properties":{"a":{"maximum":${most}}}}`
      const reply = await fetch(`${baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${keyId}~${key}` },
        body: `${begin},"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${schema}}}}`,
      })
      await reply.text()
      await sleep(20)
      return stateOf(reply)
    }
    const states = [await ask("9007199254740993"), await ask("9007199254740992"), await ask("9007199254740993")]
    expect(states).toEqual(["miss", "miss", "hit"])
  })

  it("names the header of a value that it does not know", async () => {
    const body = { model: "main", messages: messages("x") }
    const refused = await compatible("/openai/v1/chat/completions", body, { "x-svc-cache": "maybe" })
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("x-svc-cache")])
  })

  it.each([
    ["a reply that was cut", { stop: "length" }],
    ["a filtered reply", { stop: "content_filter" }],
  ])("is not %s", async (_, { stop }) => {
    gateway().vendor.script((call) => {
      const choices = [{ index: 0, message: { role: "assistant", content: "cut" }, finish_reason: stop }]
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ id: "x", choices, usage: { prompt_tokens: 10, completion_tokens: 5 } }))
    })
    expect((await askedTwice(fresh())).slice(0, 2)).toEqual(["miss", "miss"])
  })

  it("is no reply without usage, none that broke off, and no failure", async () => {
    const choices = [{ index: 0, message: { role: "assistant", content: "no usage" }, finish_reason: "stop" }]
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ id: "x", choices }))
    })
    expect((await askedTwice(fresh())).slice(0, 2)).toEqual(["miss", "miss"])
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n')
      await call.wait(50)
      call.reset()
    })
    const broken = fresh({ stream: true })
    expect((await askedTwice(broken)).slice(0, 2)).toEqual(["miss", "miss"])
    gateway().vendor.script((call) => {
      call.head(500, { "content-type": "application/json" })
      call.end("{}")
    })
    const failing = fresh()
    expect((await ask(failing)).status).toBe(502)
    gateway().vendor.script(answering(answer))
    expect((await askedTwice(failing)).slice(0, 2)).toEqual(["miss", "hit"])
  })

  it("is nothing of a request with a link, and of one with its data it is", async () => {
    const image = (source: object) =>
      fresh({
        thread: [
          {
            role: "user",
            blocks: [
              { t: "text", v: `look ${asked++}` },
              { t: "image", mime: "image/png", ...source },
            ],
          },
        ],
      })
    expect((await askedTwice(image({ url: "https://example.com/a.png" }))).slice(0, 2)).toEqual([null, null])
    expect((await askedTwice(image({ data: "iVBORw0KGgo=" }))).slice(0, 2)).toEqual(["miss", "hit"])
  })

  it("has reasoning with its signature, and tool calls", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(
        JSON.stringify({
          content: [
            { type: "thinking", thinking: "Hm", signature: "sig==" },
            { type: "redacted_thinking", data: "opaque" },
            { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
          ],
          stop_reason: "tool_use",
          usage: { input_tokens: 10, output_tokens: 20 },
        }),
      )
    })
    await apply(cached().replace("handle: claude,", "handle: claude, replyCache: { ttl: 1h },"))
    const body = fresh({ model: "claude", params: { reasoning: "high" } })
    const first = await replyOf(await ask(body))
    await sleep(20)
    const again = await ask(body)
    expect(stateOf(again)).toBe("hit")
    const { blocks, stop } = await replyOf(again)
    expect({ blocks, stop }).toEqual({ blocks: first.blocks, stop: "tool_call" })
    expect(blocks[0]).toMatchObject({ t: "reasoning", signature: "sig==" })
  })
})

describe("the catalogue", () => {
  it.each([
    ["without it", "", "", [null, null]],
    ["with 0s of the organisation", "replyCache: { ttl: 1h }", "replyCache: { ttl: 0s },", [null, null]],
    ["with the organisation's alone", "", "replyCache: { ttl: 1h },", ["miss", "hit"]],
    ["with who shares alone", "replyCache: { ttl: 1h }", "replyCache: { share: app },", ["miss", "hit"]],
    ["with a time that is over", "replyCache: { ttl: 1ms }", "", ["miss", "miss"]],
  ])("decides: %s", async (_, model, org, states) => {
    await apply(cached(model, org))
    const body = fresh()
    const seen: Array<string | null> = []
    for (const _state of states) {
      seen.push(stateOf(await ask(body)))
      await sleep(20)
    }
    expect(seen).toEqual(states)
  })

  it("that changes a target, a vendor or a parameter empties what it affects", async () => {
    const body = fresh()
    expect((await askedTwice(body)).slice(0, 2)).toEqual(["miss", "hit"])
    for (const [from, to] of [
      ["model: upstream-main", "model: upstream-other"],
      ["maxOutput: 2000\n", "maxOutput: 1999\n"],
      ["id: openai, dialect: openai-chat,", "id: openai, dialect: openai-chat, profile: generic,"],
    ] as const) {
      await apply(cached().replace(from, to))
      expect(stateOf(await ask(body)), to).toBe("miss")
      await apply(cached())
      expect(stateOf(await ask(body)), "as before").toBe("hit")
    }
  })

  it.each([
    ["replyCache: { ttl: 25h }", "at most 24h"],
    ["replyCache: { ttl: soon }", "a duration"],
    ["replyCache: { ttl: 1h, share: all }", "share"],
    ["kind: speech\n    replyCache: { ttl: 1h }", "replies of kind speech are not kept"],
  ])("with %s is refused", async (model, message) => {
    const refused = await gateway().call(
      "POST",
      "/v1/admin/catalogue",
      { text: cached(model), dryRun: true },
      { "x-svc-admin-key": gateway().adminKey },
    )
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(message)])
  })

  it("without a price for a cached reply gives it for nothing, also to whom has no money left", async () => {
    await apply(cached().replace(' cachedReply: "0.1",', ""))
    const body = fresh()
    const { usage } = await replyOf(await ask(body))
    const before = await balanceOf(gateway())
    const again = await ask(body)
    expect([stateOf(again), again.headers.get("x-svc-cost")]).toEqual(["hit", "0"])
    expect(again.headers.get("x-svc-balance")).toBe(usage.balance)
    expect(await balanceOf(gateway())).toBe(before)
  })
})

describe("a budget that is used up", () => {
  it("refuses what a vendor would be called for, and not a reply from the cache that costs nothing", async () => {
    const budget = `budgets: [{ id: small_${ids.org}, scope: org, unit: money, period: day, limit: "0.000001" }]\n`
    const body = fresh()
    expect((await ask(body)).status).toBe(200)
    await apply(cached().replace(' cachedReply: "0.1",', "") + budget)
    expect((await errorOf(await ask(fresh()))).code).toBe("org_ceiling_exceeded")
    const again = await ask(body)
    expect([again.status, stateOf(again)]).toEqual([200, "hit"])
    await apply(cached() + budget)
    expect((await errorOf(await ask(body))).code).toBe("org_ceiling_exceeded")
  })
})

describe("equal requests at once", () => {
  it.each([
    ["whole", false, 60],
    ["streamed", true, 60],
    ["whole", false, 200],
  ])("call the vendor once, and each is billed: %s, stream %s, %d of them", async (_, stream, count) => {
    gateway().vendor.script(answering(answer, 20))
    const body = fresh({ stream })
    const before = { calls: vendorCalls(), balance: await balanceOf(gateway()) }
    const replies = await Promise.all(Array.from({ length: count }, () => ask(body)))
    const texts = await Promise.all(replies.map((reply) => reply.text()))
    expect(vendorCalls() - before.calls).toBe(1)
    expect(new Set(texts.map(comparable)).size).toBe(1)
    expect(replies.map(stateOf).filter((state) => state === "miss").length).toBe(1)
    const shared = BigInt(count - 1)
    await eventually(async () => before.balance - (await balanceOf(gateway())) === 49_200_000n + shared * 4_920_000n)
    const rows = (await records()).slice(-count)
    expect(rows.filter(({ dims }) => (dims["obs_cache_waits"] ?? dims["obs_cache_hits"]) === 1).length).toBe(count - 1)
  })

  it("get the stream as it comes, also who comes in the middle of it", async () => {
    const steps: Array<() => void> = []
    const next = () => new Promise<void>((resolve) => steps.push(resolve))
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write('data: {"choices":[{"index":0,"delta":{"content":"one"}}]}\n\n')
      await next()
      await call.write('data: {"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":"stop"}]}\n\n')
      call.end('data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}\n\ndata: [DONE]\n\n')
    })
    const body = fresh({ stream: true })
    const before = vendorCalls()
    const first = await ask(body)
    const second = await ask(body)
    const reader = second.body?.getReader()
    let seen = ""
    while (!seen.includes("one")) seen += new TextDecoder().decode((await reader?.read())?.value)
    expect(seen).not.toContain("two")
    const whole = ask({ ...body, stream: false })
    await sleep(50)
    for (const step of steps) step()
    expect(await first.text()).toContain("two")
    while (!seen.includes("t.close")) seen += new TextDecoder().decode((await reader?.read())?.value)
    expect(seen).toContain("two")
    expect((await replyOf(await whole)).blocks).toMatchObject([{ t: "text", v: "onetwo" }])
    expect(vendorCalls() - before).toBe(1)
  })

  it("are made by the next in line if the first fails, and who leaves pays nothing", async () => {
    let made = 0
    gateway().vendor.script(async (call) => {
      await call.wait(100)
      if (made++ < 2) {
        call.head(500, { "content-type": "application/json" })
        return call.end("{}")
      }
      return answering(answer)(call)
    })
    const body = fresh()
    const before = { calls: vendorCalls(), balance: await balanceOf(gateway()) }
    const leaving = new AbortController()
    const replies = Array.from({ length: 10 }, () => ask(body))
    const left = gateway().exchange(body, { signal: leaving.signal })
    await sleep(50)
    leaving.abort()
    await expect(left).rejects.toThrow()
    const states = (await Promise.all(replies)).map((reply) => `${reply.status} ${stateOf(reply)}`).sort()
    expect(states).toEqual([...Array.from({ length: 7 }, () => "200 hit"), "200 miss", "502 null", "502 null"])
    expect(vendorCalls() - before.calls).toBe(3)
    await eventually(async () => before.balance - (await balanceOf(gateway())) === 49_200_000n + 7n * 4_920_000n)
  })

  it("go on if the client of the first leaves, or reads nothing", async () => {
    gateway().vendor.script(answering({ ...answer, words: Array.from({ length: 20 }, (_, at) => `word ${at} `) }, 20))
    for (const stream of [true, false]) {
      const body = fresh({ stream })
      const before = vendorCalls()
      const leaving = new AbortController()
      const first = gateway().exchange(body, { signal: leaving.signal })
      await sleep(60)
      const second = ask(body)
      await sleep(60)
      leaving.abort()
      await first.then((reply) => reply.text()).catch(() => {})
      expect(await (await second).text()).toContain("word 19")
      expect(vendorCalls() - before).toBe(1)
    }
  })

  it("end with an error that says retry if the stream breaks off, and pay nothing for it", async () => {
    const go: Array<() => void> = []
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n')
      await new Promise<void>((resolve) => go.push(resolve))
      call.reset()
    })
    const body = fresh({ stream: true })
    const first = await ask(body)
    const others = await Promise.all([ask(body), ask(body)])
    const before = (await records()).length
    for (const step of go) step()
    for (const other of others) {
      const text = await other.text()
      expect(text).toContain("half")
      expect(text).toContain('"code":"upstream_disconnected"')
      expect(text).toContain('"retryable":true')
    }
    expect(await first.text()).toContain("t.err")
    await eventually(async () => (await records()).length === before + 1)
  })
})

describe("an operator", () => {
  const asOperator = () => ({ "x-svc-admin-key": gateway().adminKey })

  it("empties it, of a model or whole; what is being made then is not kept", async () => {
    const body = fresh()
    const path = `/v1/admin/orgs/${gateway().orgId}/reply-cache`
    const clear = async (query = ""): Promise<unknown> =>
      (await gateway().call("DELETE", path + query, undefined, asOperator())).json()
    expect((await askedTwice(body)).slice(0, 2)).toEqual(["miss", "hit"])
    expect(await clear("?model=claude")).toEqual({ removed: expect.any(Number) })
    expect(stateOf(await ask(body))).toBe("hit")
    expect(await clear("?model=main")).toEqual({ removed: expect.any(Number) })
    expect(await clear()).toEqual({ removed: 0 })
    gateway().vendor.script(answering(answer, 100))
    const running = ask(body)
    await sleep(30)
    await clear()
    expect(stateOf(await running)).toBe("miss")
    await sleep(50)
    expect(stateOf(await ask(body))).toBe("miss")
    // Nor is it emptied again when its node reads what all nodes changed.
    await clear()
    const kept = fresh()
    expect(stateOf(await ask(kept))).toBe("miss")
    await sleep(300)
    expect(stateOf(await ask(kept))).toBe("hit")
    expect((await gateway().call("DELETE", "/v1/admin/orgs/nobody/reply-cache", undefined, asOperator())).status).toBe(
      404,
    )
    expect((await gateway().call("DELETE", path)).status).toBe(401)
  })

  it("sees hits, waits, misses and what they saved, by model and organisation", async () => {
    const read = async (query: string) => {
      const reply = await gateway().call(
        "GET",
        `/v1/admin/reply-cache?org=${gateway().orgId}${query}`,
        undefined,
        asOperator(),
      )
      const { data } = decodeReport(await reply.json())
      const found = data.find(({ group }) => group === "main" || group === gateway().orgId)
      if (found === undefined) throw new Error("there is no row")
      return found
    }
    const before = await read("")
    expect((await askedTwice(fresh())).slice(0, 2)).toEqual(["miss", "hit"])
    const after = await read("")
    expect([after.hits - before.hits, after.misses - before.misses, after.tokens - before.tokens]).toEqual([1, 1, 1200])
    expect(Math.round((Number(after.saved["USD"]) - Number(before.saved["USD"])) * 1e6)).toBe(4428)
    expect((await read("&by=org")).hits).toBeGreaterThan(after.hits - 1)
    const metrics = await (await gateway().call("GET", "/metrics", undefined, asOperator())).text()
    expect(metrics).toMatch(/weir_reply_cache_total\{(?=.*outcome="hit").*model="main".*\} \d/)
    expect(metrics).toMatch(/weir_reply_cache_saved_total\{(?=.*currency="USD").*\} [\d.]+/)
    expect((await gateway().call("GET", "/v1/admin/reply-cache?by=key", undefined, asOperator())).status).toBe(400)
  })
})
