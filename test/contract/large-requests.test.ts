/** Large requests: read and written by workers, with everything that an exchange has, and bounded. */
import { randomBytes, randomUUID } from "node:crypto"
import { request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { beforeEach, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, lastUsage, replyOf, useGateway } from "../support/gateway.ts"

const mebibyte = 1024 * 1024
const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { largeBodyBytes: 24 * mebibyte },
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replaceAll(/maxOutput: 2000,/g, "maxOutput: 2000, contextWindow: 2000000,")
      .replace("contextWindow: 10000", "contextWindow: 2000000\n    replyCache: { ttl: 10m }")
      .replace("- { handle: pool,", "- { handle: pool, capabilities: [tools],")
      .replace("- { handle: drained,", "- { handle: drained, contextWindow: 9000000, timeouts: { total: 20ms },")
      .replace(
        "orgs:\n",
        "policies:\n  - { id: words, direction: inbound, match: { keywords: [forbidden-word] }, reason: bad_word }\norgs:\n",
      )
      .replace(/(- \{ id: org_\w+, name: Test,)/, "$1 policies: [words],"),
})
const answer = { words: ["Hello", " there"], inTokens: 1000, outTokens: 20 }
beforeEach(() => {
  gateway().vendor.script(answering(answer))
  gateway().second.script(answering(answer))
})

/** Text that a hop must not change. */
const long = `é\u2028"\\ ${"words of a river ".repeat(24_000)}`
const thread = [
  { role: "system", blocks: [{ t: "text", v: "Be brief." }] },
  { role: "user", blocks: [{ t: "text", v: long }] },
  { role: "assistant", blocks: [{ t: "tool_call", id: "call_1", name: "weather", input: { city: "Oslo" } }] },
  { role: "tool", blocks: [{ t: "tool_result", id: "call_1", v: "12 degrees" }] },
]
const tools = [
  {
    name: "weather",
    description: "of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
  },
]
const large = (more: object = {}) => ({ model: "main", thread, tools, params: { maxTokens: 100 }, ...more })
const ask = (body: unknown, headers: Record<string, string> = {}, path = "/t1/exchange") =>
  gateway().call("POST", path, body, headers)
const sentBody = () => gateway().vendor.calls.at(-1)?.body ?? {}

describe("a large request", () => {
  it.each(["main", "claude", "responses", "gemini"])("reaches %s as a small one does", async (model) => {
    const reply = await ask(large({ model, cache: { reply: "off" } }))
    expect(reply.status).toBe(200)
    const { blocks, usage } = await replyOf(reply)
    expect(blocks).toMatchObject([{ t: "text", v: "Hello there" }])
    expect(usage).toMatchObject({ inTokens: 1000, outTokens: 20 })
    const whole = JSON.stringify(sentBody())
    const small = JSON.stringify(large({ model, cache: { reply: "off" } })).replace(JSON.stringify(long), '"LONG"')
    await (await ask(small)).text()
    expect(JSON.parse(whole.replace(JSON.stringify(long).slice(1, -1), "LONG"))).toEqual(sentBody())
  })

  it("is streamed, replayed under its request id, and refused with another content", async () => {
    const requestId = randomUUID()
    const body = large({ meta: { requestId }, cache: { reply: "off" } })
    const first = await ask(body)
    const again = await ask(body)
    expect([first.status, again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, 200, "1"])
    const other = await errorOf(await ask(large({ meta: { requestId }, params: { maxTokens: 99 } })))
    expect(other).toMatchObject({ status: 409, code: "idempotency_conflict" })
    const stream = await (await ask(large({ stream: true, cache: { reply: "off" } }))).text()
    expect(stream).toContain("event: t.close")
  })

  it("is found in the reply cache", async () => {
    const states: Array<string | null> = []
    for (const stream of [false, true, false]) {
      const reply = await ask(
        large({ stream, thread: [...thread, { role: "user", blocks: [{ t: "text", v: ids.org }] }] }),
      )
      await reply.text()
      states.push(reply.headers.get("x-svc-cache"))
    }
    expect(states).toEqual(["miss", "hit", "hit"])
  })

  it("fails over to another vendor, which gets it whole", async () => {
    gateway().vendor.script((call) => {
      call.head(503, { "content-type": "application/json" })
      call.end("{}")
    })
    const reply = await ask(large({ model: "pool" }))
    expect(reply.status).toBe(200)
    expect(JSON.stringify(gateway().second.calls.at(-1)?.body)).toContain("words of a river words")
  })

  it("of which a vendor needs little reaches it", async () => {
    const { keyId, key } = gateway()
    const body = { model: "main", input: "Hi", store: false, client_metadata: { note: long } }
    const headers = { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-api-key": `${keyId}~${key}` }
    const reply = await gateway().call("POST", "/openai/v1/responses", body, headers)
    expect(reply.status).toBe(200)
    expect(JSON.stringify(sentBody())).not.toContain("words of a river")
  })

  it.each([
    ["an unknown field", large({ colour: "blue" }), "colour"],
    ["a wrong type", large({ params: { maxTokens: "many" } }), "params.maxTokens"],
    ["a wrong block", large({ thread: [...thread, { role: "user", blocks: [{ t: "smell", v: "x" }] }] }), "thread.4"],
  ])("with %s is refused by its path", async (_, body, path) => {
    const error = await errorOf(await ask(body))
    expect(error).toMatchObject({ status: 400, code: "bad_request" })
    expect(JSON.stringify(error.detail)).toContain(path)
  })

  it("that is no JSON, no UTF-8 or too deep is refused as a small one is", async () => {
    const filler = " ".repeat(300_000)
    expect((await errorOf(await ask(`{"model": ${filler}`))).message).toContain("not valid JSON")
    const deep = `{"model":"main","thread":${"[".repeat(100)}${"]".repeat(100)}${filler}}`
    expect((await errorOf(await ask(deep))).message).toContain("nested deeper")
    const bytes = Buffer.concat([Buffer.from(filler), Buffer.from([0xff, 0xfe])])
    const reply = await fetch(`${gateway().baseUrl}/t1/exchange`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key },
      body: bytes,
    })
    expect((await errorOf(reply)).message).toContain("UTF-8")
  })

  it("is read by policies, and denied by a word in its middle", async () => {
    const calls = gateway().vendor.calls.length
    const words = [...thread, { role: "user", blocks: [{ t: "text", v: `a forbidden-word here ${long}` }] }]
    const error = await errorOf(await ask(large({ thread: words })))
    expect([error.status, error.code, gateway().vendor.calls.length]).toEqual([403, "content_blocked", calls])
  })

  it("is counted by the gateway where the vendor reports nothing", async () => {
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      const message = { role: "assistant", content: "Hi" }
      call.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }))
    })
    const { usage } = await replyOf(await ask(large({ cache: { reply: "off" } })))
    expect(usage.estimatedReason).toBe("upstream_usage_missing")
    expect(usage.inTokens).toBeGreaterThan(60_000)
    expect(await lastUsage(gateway())).toMatchObject({ in_tokens: BigInt(usage.inTokens) })
  }, 60_000)

  it("may come compressed, or without its length", async () => {
    const text = JSON.stringify(large({ cache: { reply: "off" } }))
    const send = (init: RequestInit & { readonly duplex?: "half" }) => gateway().exchange("", init)
    const zipped = await send({ body: gzipSync(text), headers: { "content-encoding": "gzip" } })
    expect(zipped.status).toBe(200)
    const chunked = await send({ body: new Blob([text]).stream(), duplex: "half" })
    expect(chunked.status).toBe(200)
  })
})

describe("in other APIs, a large request", () => {
  const post = (path: string, body: object) =>
    gateway().call("POST", path, body, {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      "x-svc-cache": "off",
    })

  it.each([
    ["/openai/v1/chat/completions", { model: "main", messages: [{ role: "user", content: long }] }],
    ["/openai/v1/responses", { model: "main", input: long, store: false }],
    ["/anthropic/v1/messages", { model: "main", max_tokens: 100, messages: [{ role: "user", content: long }] }],
    ["/gemini/v1beta/models/main:generateContent", { contents: [{ role: "user", parts: [{ text: long }] }] }],
  ])("%s is answered in its words, and refused in its words", async (path, body) => {
    const reply = await post(path, body)
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining("Hello there")])
    expect(JSON.stringify(sentBody())).toContain(JSON.stringify(long).slice(1, 1000))
    const strange = await post(path, { ...body, nonsense: 1 })
    if (path === "/openai/v1/chat/completions") {
      // The vendor has the same API, and may know the field.
      expect([strange.status, strange.headers.get("x-svc-warning")]).toEqual([200, "fields_carried=nonsense"])
      expect(sentBody()).toMatchObject({ nonsense: 1 })
    } else expect([strange.status, await strange.text()]).toEqual([400, expect.stringContaining("nonsense")])
  })

  it("that goes on without an edit is there for what comes after it", async () => {
    const body = {
      contents: [{ role: "user", parts: [{ text: long }] }],
      generationConfig: { maxOutputTokens: 100 },
    }
    const path = "/gemini/v1beta/models/gemini:generateContent"
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ candidates: [{ content: { parts: [{ text: "Rain" }] }, finishReason: "STOP" }] }))
    })
    // The vendor counts nothing, so the gateway reads the prompt again.
    const reply = await ask(body, {}, path)
    expect(reply.status).toBe(200)
    expect(sentBody()).toEqual(body)
    const usage = await lastUsage(gateway())
    expect(usage).toMatchObject({ estimated_reason: "upstream_usage_missing" })
    // Its tokens are those of the words, and not a third of its bytes.
    expect(Number(usage?.in_tokens)).toBeGreaterThan(60_000)
    expect(Number(usage?.in_tokens)).toBeLessThan(Buffer.byteLength(long) / 3)
  })

  it("is told the client's own name of a field that its vendor refuses", async () => {
    gateway().vendor.script((call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { message: "Unrecognized request argument supplied: nonsense", param: null } }))
    })
    const body = { model: "main", messages: [{ role: "user", content: long }], nonsense: 1 }
    const reply = await post("/openai/v1/chat/completions", body)
    expect([reply.status, await reply.json()]).toMatchObject([502, { error: { param: "nonsense" } }])
  })

  it("has its tokens counted", async () => {
    const body = { model: "main", messages: [{ role: "user", content: long }] }
    const reply = await post("/anthropic/v1/messages/count_tokens", body)
    expect(await reply.json()).toMatchObject({ input_tokens: expect.any(Number) })
  })
})

describe("many large requests", () => {
  it("are bounded in bytes: those beyond get 429, and nothing is left", async () => {
    const picture = { t: "image", mime: "image/png", data: randomBytes(6 * mebibyte).toString("base64") }
    const body = JSON.stringify(large({ cache: { reply: "off" }, thread: [{ role: "user", blocks: [picture] }] }))
    gateway().vendor.script(answering(answer, 300))
    const before = await balanceOf(gateway())
    const replies = await Promise.all(Array.from({ length: 12 }, () => ask(body)))
    const statuses = replies.map(({ status }) => status)
    // Bodies of 8 MiB, room for 24.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2)
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(4)
    const refused = replies.find(({ status }) => status === 429)
    expect(refused?.headers.get("retry-after")).not.toBeNull()
    expect(await errorOf(refused ?? Response.error())).toMatchObject({
      code: "rate_limited",
      detail: { scope: "gateway" },
    })
    await eventually(async () => (await balanceOf(gateway())) < before)
    expect((await ask(body)).status).toBe(200)
  })

  it("end at their deadline while a worker writes them for their vendor: nothing is sent, nothing is billed", async () => {
    const before = { balance: await balanceOf(gateway()), calls: gateway().vendor.calls.length }
    // A worker takes longer over it than the call may take in all.
    const texts = Array.from({ length: 16 }, (_, n) => ({ t: "text", v: `${n} ${'words, "quoted" '.repeat(60_000)}` }))
    const error = await errorOf(await ask({ model: "drained", thread: [{ role: "user", blocks: texts }] }))
    expect(error).toMatchObject({ status: 504, code: "upstream_total_timeout" })
    expect(gateway().vendor.calls.length).toBe(before.calls)
    await eventually(async () => (await balanceOf(gateway())) === before.balance)
    expect((await ask(large({ cache: { reply: "off" } }))).status).toBe(200)
  })

  it("end with their clients: one that leaves while its request is read costs nothing", async () => {
    const before = { balance: await balanceOf(gateway()), calls: gateway().vendor.calls.length }
    const text = `${long} ${randomUUID()}`
    const leaving = new AbortController()
    const left = gateway().exchange(large({ thread: [{ role: "user", blocks: [{ t: "text", v: text.repeat(8) }] }] }), {
      signal: leaving.signal,
    })
    await sleep(15)
    leaving.abort()
    await expect(left).rejects.toThrow()
    await sleep(300)
    expect(await balanceOf(gateway())).toBe(before.balance)
    expect((await ask(large({ cache: { reply: "off" } }))).status).toBe(200)
  })
})

describe("bodies that do not end", () => {
  const places = [
    "/t1/exchange",
    "/anthropic/v1/messages/count_tokens",
    "/openai/v1/responses/input_tokens",
    "/gemini/v1beta/models/main:countTokens",
    "/gemini/v1beta/models/main:generateContent",
    "/openai/v1/images/generations",
  ] as const
  const sizes = [
    ["that say their size", { "content-length": `${8 * mebibyte}` }],
    ["that say none", { "transfer-encoding": "chunked" }],
  ] as const

  /** A request of 20 MiB, nearly all of them spaces. */
  const spacious = gzipSync(
    `{${" ".repeat(20 * mebibyte)}"model":"main","max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}`,
  )
  const compressed = async () => {
    const reply = await fetch(`${gateway().baseUrl}/anthropic/v1/messages/count_tokens`, {
      method: "POST",
      headers: { "x-api-key": `${gateway().keyId}~${gateway().key}`, "content-encoding": "gzip" },
      body: spacious,
    })
    await reply.text()
    return reply.status
  }

  it.each(places.flatMap((path) => sizes.map(([name, headers]) => [path, name, headers] as const)))(
    "%s: those %s take room until they are gone",
    async (path, _, headers) => {
      const { baseUrl, keyId, key } = gateway()
      const credential = path.startsWith("/t1/")
        ? { "x-svc-key-id": keyId, "x-svc-key": key }
        : { authorization: `Bearer ${keyId}~${key}` }
      const statuses: Array<number | undefined> = []
      const begun = Array.from({ length: 5 }, () => {
        const sent = request(`${baseUrl}${path}`, {
          method: "POST",
          headers: { ...credential, "content-type": "application/json", ...headers },
        })
        sent.on("error", () => {})
        sent.on("response", ({ statusCode }) => statuses.push(statusCode))
        sent.write(`{"a":"${"x".repeat(8 * mebibyte - 100)}`)
        return sent
      })
      // Three fill the room.
      await eventually(async () => statuses.length >= 2)
      expect(new Set(statuses)).toEqual(new Set([429]))
      for (const sent of begun) sent.destroy()
      // A body has all of the room again.
      await eventually(async () => (await compressed()) === 200)
    },
  )

  it("that are larger than they were sent take room for what they are", async () => {
    expect(await compressed()).toBe(200)
    const statuses = await Promise.all([compressed(), compressed(), compressed()])
    expect(statuses).toContain(429)
    expect(await compressed()).toBe(200)
  })
})
