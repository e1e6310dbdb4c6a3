/** Streams that a policy denies: each is billed once, and its hold is settled; retries, shared replies and clients that leave. */
import { randomUUID } from "node:crypto"
import { describe, expect, it } from "vitest"
import { parseObject, stringAt } from "../../../src/dialects/parse/json.ts"
import {
  answering,
  newTestIds,
  openaiChunk,
  openaiFrame,
  testCatalogue,
  type VendorCall,
  type VendorScript,
} from "../../../src/testing/index.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { replyCacheWaitMs: 30_000, outputTokenBytes: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `policies:
  - { id: words, direction: outbound, match: { keywords: [classified] }, reason: leak, streams: enforce }
  - { id: endless, direction: outbound, match: { regex: "begin[a-z ]+end" }, reason: leak, streams: enforce }
  - { id: mails, direction: outbound, match: { entities: [email] }, reason: leak, action: mask }
`,
    )
      .replace("- handle: main\n", "- handle: main\n    replyCache: { ttl: 10m }\n")
      .replace("name: Test,", "name: Test, replyCache: { share: org },")
      .replace(
        "apps:\n",
        ["free", "masked", "held"]
          .map(
            (each) =>
              `  - { id: ${ids.app}-${each}, org: ${ids.org}, policies: [${{ free: "", masked: "mails", held: "endless" }[each]}] }\n`,
          )
          .reduce((all, each) => all + each, "apps:\n"),
      )
      .replace(`{ id: ${ids.app}, org: ${ids.org} }`, `{ id: ${ids.app}, org: ${ids.org}, policies: [words] }`)
      .replace(
        "keys:\n",
        ["free", "masked", "held"].reduce(
          (all, each) => `${all}  - { id: ${ids.key}${each}, app: ${ids.app}-${each}, secret: "env:WEIR_TEST_KEY" }\n`,
          "keys:\n",
        ),
      ),
})

const apis = {
  chat: ["/openai/v1/chat/completions", "main", (content: string) => ({ messages: [{ role: "user", content }] })],
  responses: ["/openai/v1/responses", "responses", (input: string) => ({ input, store: false })],
  messages: [
    "/anthropic/v1/messages",
    "claude",
    (content: string) => ({ max_tokens: 100, messages: [{ role: "user", content }] }),
  ],
  t1: ["/t1/exchange", "main", (v: string) => ({ thread: [{ role: "user", blocks: [{ t: "text", v }] }] })],
} as const
type Api = keyof typeof apis

/** @param key the last part of the key's id */
const ask = (
  api: Api,
  text: string,
  headers: Readonly<Record<string, string>> = {},
  key = "",
  init: RequestInit = {},
  more: object = {},
) => {
  const [path, model, body] = apis[api]
  const keyId = `${ids.key}${key}`
  return fetch(gateway().baseUrl + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(api === "t1"
        ? { "x-svc-key-id": keyId, "x-svc-key": gateway().key }
        : { "x-api-key": `${keyId}~${gateway().key}` }),
      ...headers,
    },
    body: JSON.stringify({ model, stream: true, ...body(text), ...more }),
    ...init,
  })
}

const settled = async (count: number) => {
  const holds = await holdsOf(gateway())
  return holds.length === count && holds.every(({ state }) => state === "settled")
}
const countOf = async () => (await holdsOf(gateway())).length
let asked = 0
const fresh = () => `question ${asked++}`

const ended =
  openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
  openaiFrame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 10 } }) +
  openaiFrame("[DONE]")

describe.each(["chat", "responses", "messages", "t1"] as const)("a denied stream in %s", (api) => {
  it("is billed once, also when it is sent again", async () => {
    const before = await countOf()
    gateway().vendor.script(
      answering({ words: ["This is ", "class", "ified", ", really"], inTokens: 10, outTokens: 20 }, 40),
    )
    const requestId = randomUUID()
    const id = { "idempotency-key": requestId }
    const more = api === "t1" ? { meta: { requestId } } : {}
    const text = fresh()
    const reply = await (await ask(api, text, id, "", {}, more)).text()
    expect(reply).toContain("This is ")
    expect(reply).not.toContain("really")
    await eventually(() => settled(before + 1))
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: "content_blocked" })
    const calls = gateway().vendor.calls.length
    const again = await ask(api, text, id, "", {}, more)
    expect([again.status, (await again.text()).includes("ified")]).toEqual([409, false])
    expect(gateway().vendor.calls.length).toBe(calls)
    expect(await settled(before + 1)).toBe(true)
  })
})

/** A vendor whose whole stream arrives in one read. */
const atOnce =
  (script: VendorScript): VendorScript =>
  (call) => {
    const frames: Array<string | Uint8Array> = []
    const write: VendorCall["write"] = async (bytes) => frames.push(bytes) > 0
    return script({ ...call, write, end: () => call.end(frames.map(String).join("")) })
  }

describe.each(["chat", "responses", "messages", "t1"] as const)("a stream in %s that comes in one read", (api) => {
  it("is denied after its clear text, as often as it is asked for", async () => {
    for (const words of [["Hello, this is classified stuff"], ["Hello, ", "this is ", "classified", " stuff"]]) {
      // A frame of a vendor goes on whole, or not at all.
      const hasClear = words.length > 1 || api === "t1"
      const before = await countOf()
      gateway().vendor.script(atOnce(answering({ words, inTokens: 10, outTokens: 20 })))
      for (let count = 0; count < 5; count++) {
        const reply = await ask(api, fresh())
        const text = await reply.text()
        expect([reply.status, text.includes("Hello, "), /classified|stuff/.test(text)]).toEqual([200, hasClear, false])
        expect(text).toMatch(/content_blocked|safety policy/)
      }
      await eventually(() => settled(before + 5))
    }
  })
})

describe("a stream under a policy", () => {
  it("of a vendor that breaks off in the middle of a word goes to its end, and is billed once", async () => {
    for (const end of ["reset", "close", "half a frame", "no blank line"] as const) {
      const before = await countOf()
      gateway().vendor.script(async (call) => {
        call.head()
        await call.write(openaiChunk("This is class"))
        if (end === "half a frame") await call.write(openaiChunk("ified").slice(0, -20))
        if (end === "no blank line") await call.write(openaiChunk("ified").trimEnd())
        if (end === "reset") call.reset()
        else call.end()
      })
      const reply = await (await ask("chat", fresh())).text().catch(String)
      expect([end, /ified/.test(reply)]).toEqual([end, false])
      // A reply that broke off before its first event was written may be one that costs nothing.
      await eventually(async () => (await holdsOf(gateway())).every(({ state }) => state === "settled"))
      expect(await countOf()).toBeLessThanOrEqual(before + 1)
    }
  })

  it("whose client leaves while text waits is settled", async () => {
    const before = await countOf()
    const leaving = new AbortController()
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("Hi, begin "))
      for (let at = 0; at < 200; at++) {
        if (!(await call.write(openaiChunk("a b ")))) return
        await call.wait(20)
      }
      call.end(ended)
    })
    const reply = await ask("chat", fresh(), {}, "held", { signal: leaving.signal })
    const reader = reply.body?.getReader()
    const first = await reader?.read()
    expect(Buffer.from(first?.value ?? []).toString()).toContain("Hi")
    leaving.abort()
    await eventually(() => settled(before + 1))
  })

  const endless = (parts: number) =>
    gateway().vendor.script(async (call) => {
      call.head()
      for (let at = 0; at < parts; at++) await call.write(openaiChunk(`begin ${"word ".repeat(200)}`))
      call.end(ended)
    })

  it("with a pattern that has no end holds text, and gives it at the end", async () => {
    endless(64)
    const text = await (await ask("chat", fresh(), {}, "held")).text()
    expect(text.match(/word /g)?.length).toBe(64 * 200)
  }, 60_000)

  it("with a pattern that has no end is denied if it would hold too much, and billed", async () => {
    const before = await countOf()
    endless(1000)
    const text = await (await ask("chat", fresh(), {}, "held")).text()
    expect(text).not.toContain("word")
    expect(text).toContain("policy denied")
    await eventually(() => settled(before + 1))
  }, 60_000)

  it("is shared with callers of other policies: each gets what its own allow", async () => {
    for (const isLeaderDenied of [true, false]) {
      const before = await countOf()
      let others = 0
      gateway().vendor.script(async (call) => {
        call.head()
        await call.write(openaiChunk("Write to ann@exam"))
        await eventually(() => others >= 1)
        await call.wait(100)
        await call.write(openaiChunk("ple.com, class"))
        await call.write(openaiChunk("ified and more"))
        call.end(ended)
      })
      const text = fresh()
      const calls = gateway().vendor.calls.length
      const order = isLeaderDenied ? ["", "free", "masked"] : ["free", "", "masked"]
      const [leader = "", ...rest] = order
      const first = ask("chat", text, {}, leader)
      await eventually(() => gateway().vendor.calls.length === calls + 1)
      const waiting = rest.map((key) => ask("chat", text, {}, key))
      for (const each of waiting) void each.then(() => others++)
      const replies = await Promise.all([first, ...waiting].map(async (each) => (await each).text()))
      const by = Object.fromEntries(order.map((key, at) => [key, replies[at] ?? ""]))
      expect(by[""]).not.toMatch(/ified|more/)
      expect(by["free"]).toContain("ified and more")
      expect(by["free"]).toContain("ann@exam")
      expect(by["masked"]).toContain("ified and more")
      expect(by["masked"]).not.toContain("ann@")
      // A reply of the cache is charged if it is whole for its caller.
      await eventually(() => settled(before + (isLeaderDenied ? 3 : 2)))
      // The next one.
      const hits = await Promise.all(
        ["", "free", "masked"].map(async (key) => (await ask("chat", text, {}, key)).text()),
      )
      expect(hits[0]).not.toMatch(/ified|more/)
      expect(hits[1]).toContain("ified and more")
      expect(hits[2]).not.toContain("ann@")
    }
  }, 60_000)

  it("with two choices denies the whole reply", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const choice = (index: number, content: string) => openaiFrame({ choices: [{ index, delta: { content } }] })
      for (const [index, content] of [
        [0, "a class"],
        [1, "clear"],
        [0, "ified"],
        [1, "other"],
      ] as const)
        await call.write(choice(index, content))
      call.end(ended)
    })
    const reply = await (await ask("chat", fresh(), {}, "", {}, { n: 2 })).text()
    expect(reply).toContain("content_blocked")
    expect(reply).not.toMatch(/ified|class|other/)
  })

  it("goes on while its policy changes", async () => {
    let applied = false
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("This is class"))
      await eventually(() => applied)
      await call.write(openaiChunk("ified, really"))
      call.end(ended)
    })
    const reply = ask("chat", fresh())
    const headers = { "content-type": "application/json", "x-svc-admin-key": gateway().adminKey }
    const current = await (await fetch(`${gateway().baseUrl}/v1/admin/catalogue`, { headers })).text()
    const text = (stringAt(parseObject(current), "text") ?? "").replace("keywords: [classified]", "keywords: [other]")
    const made = await fetch(`${gateway().baseUrl}/v1/admin/catalogue`, {
      method: "POST",
      headers,
      body: JSON.stringify({ text }),
    })
    applied = true
    expect(made.status).toBe(200)
    const got = await (await reply).text()
    expect(got).not.toMatch(/really/)
    expect(await (await ask("chat", fresh())).text()).toMatch(/really/)
  })
})
