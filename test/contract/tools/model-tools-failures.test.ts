/** Exchanges with tools of servers where something fails, leaves, is masked or is long. */
import { Effect } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import type { TwinScript } from "../../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, replyOf, useGateway } from "../../support/gateway.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"
import { answerBy, onTwins } from "../compatible/twin-vendors.ts"

let isSlowWaiting = false
const server = await startToolServer({
  isStateless: true,
  tools: {
    level: () => textResult("high"),
    person: ({ params }) => textResult(`${String(params["to"])} knows bo@example.com`),
    secret: () => textResult("the word is tungsten"),
    slow: ({ response }) => {
      isSlowWaiting = true
      return new Promise((resolve) => response.once("close", () => resolve(textResult("too late"))))
    },
  },
  definitions: { person: { inputSchema: { type: "object", properties: { to: { type: "string" } } } } },
})
afterAll(() => server.stop())

const gateway = useGateway(() => {
  const options = onTwins()
  const { ids } = options
  return {
    ...options,
    catalogue: (urls) =>
      `${options.catalogue?.(urls) ?? ""}
toolServers:
  - { id: srv, url: "${server.url}", tools: { price: { level: { currency: USD, calls: "5000000" } } } }
  - { id: gone, url: "http://127.0.0.1:9/mcp" }
budgets:
  - { id: little, scope: key, subject: ${ids?.key}p, unit: money, period: month, limit: "3" }
policies:
  - { id: hide, direction: both, match: { entities: [email] }, action: mask, reason: personal }
  - { id: no-metal, direction: inbound, match: { keywords: [tungsten] }, parts: [toolResults], reason: metals }
`
        .replace("unpriced] }", "unpriced], tools: [srv, gone] }")
        .replace("apps:\n", `apps:\n  - { id: ${ids?.app}-masked, org: ${ids?.org}, policies: [hide, no-metal] }\n`)
        .replace(
          "keys:\n",
          `keys:\n  - { id: ${ids?.key}p, app: ${ids?.app}, secret: "env:WEIR_TEST_KEY" }\n  - { id: ${ids?.key}m, app: ${ids?.app}-masked, secret: "env:WEIR_TEST_KEY" }\n`,
        ),
  }
})

const ask = (more: object = {}, text = "Go", key = "") =>
  gateway().call(
    "POST",
    "/t1/exchange",
    {
      model: "twin-openai",
      thread: [{ role: "user", blocks: [{ t: "text", v: text }] }],
      tools: [{ kind: "mcp", server: "srv" }],
      params: { maxTokens: 500 },
      ...more,
    },
    key === "" ? {} : { "x-svc-key-id": `${gateway().keyId}${key}` },
  )

const once =
  (name: string, args: object = {}): TwinScript =>
  ({ hasResults, texts }) =>
    hasResults
      ? { blocks: [{ t: "text", pieces: [`Result: ${texts.join()}`] }] }
      : { blocks: [{ t: "call", id: "call_1", name, args: JSON.stringify(args) }] }

const held = async () => (await holdsOf(gateway())).filter(({ state }) => state === "held")

describe("a call of a tool", () => {
  it("that its caller cannot pay is a result that says so", async () => {
    answerBy(gateway().vendor, once("srv__level"))
    const { blocks } = await replyOf(await ask({}, "Go", "p"))
    expect(blocks[1]).toMatchObject({
      t: "tool_result",
      isError: true,
      v: expect.stringContaining("The call has failed"),
    })
    expect(server.runs.get("level")).toBeUndefined()
    expect(await held()).toEqual([])
  })

  it("ends with the client that leaves, and what was made is billed", async () => {
    answerBy(gateway().vendor, once("srv__slow"))
    const before = await balanceOf(gateway())
    const leaving = new AbortController()
    const response = await fetch(`${gateway().baseUrl}/t1/exchange`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-svc-key-id": gateway().keyId,
        "x-svc-key": gateway().key,
      },
      body: JSON.stringify({
        model: "twin-openai",
        stream: true,
        thread: [{ role: "user", blocks: [{ t: "text", v: "Go" }] }],
        tools: [{ kind: "mcp", server: "srv" }],
      }),
      signal: leaving.signal,
    })
    expect(response.status).toBe(200)
    await eventually(() => isSlowWaiting)
    leaving.abort()
    await eventually(() => server.closed.length > 0)
    await eventually(async () => (await balanceOf(gateway())) < before && (await held()).length === 0)
  })

  it("that fails with its vendor ends the exchange, which bills the rounds before", async () => {
    const { vendor } = gateway()
    const first = vendor.calls.length
    answerBy(vendor, once("srv__person", { to: "Ada" }), ({ calls }) => calls > 0)
    const before = await balanceOf(gateway())
    const text = await (await ask({ stream: true })).text()
    expect(vendor.calls.length).toBe(first + 2)
    expect(text).toContain("event: t.err")
    await eventually(async () => (await balanceOf(gateway())) < before && (await held()).length === 0)
  })
})

describe("a server that does not list its tools", () => {
  it("fails the exchange before its vendor is asked", async () => {
    const calls = gateway().vendor.calls.length
    expect(await errorOf(await ask({ tools: [{ kind: "mcp", server: "gone" }] }))).toMatchObject({
      code: "upstream_error",
    })
    expect(gateway().vendor.calls.length).toBe(calls)
    expect(await held()).toEqual([])
  })
})

describe("policies", () => {
  it("mask values in results before the model reads them, and withhold what they deny", async () => {
    answerBy(gateway().vendor, once("srv__person", { to: "Ada" }))
    const masked = await replyOf(await ask({}, "Write to ada@example.com", "m"))
    const sent = JSON.stringify(gateway().vendor.calls.at(-1)?.body)
    expect(sent).not.toMatch(/(ada|bo)@example\.com/)
    expect(sent).toMatch(/Ada knows <EMAIL_\w+>/)
    expect(masked.blocks.at(-1)).toMatchObject({ t: "text" })
    answerBy(gateway().vendor, once("srv__secret"))
    const denied = await replyOf(await ask({}, "Go", "m"))
    expect(denied.blocks[1]).toMatchObject({ t: "tool_result", v: "A policy withholds the result.", isError: true })
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).not.toContain("tungsten")
  })
})

describe("a long request", () => {
  it("has rounds as a short one has", async () => {
    answerBy(gateway().vendor, once("srv__person", { to: "Ada" }))
    const text = "river ".repeat(200_000)
    const reply = await replyOf(
      await ask({ model: "twin-claude", thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] }),
    )
    expect(reply.blocks.map(({ t }) => t)).toEqual(["tool_call", "tool_result", "text"])
  })
})

describe("the books", () => {
  it("agree after all of it", async () => {
    const { shards, sql } = gateway()
    expect(shards).toBeDefined()
    const [sum] = await Effect.runPromise(
      sql<{
        open: number
      }>`select count(*)::integer as open from usage_records where org_id = ${gateway().orgId} and cost < 0`,
    )
    expect(sum?.open).toBe(0)
  })
})
