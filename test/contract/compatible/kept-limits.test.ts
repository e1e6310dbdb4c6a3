/** Limits of callers that continue, keep and run responses. */
import { request } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { openaiChunk } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
/** Applications that may send so many requests in a minute. */
const apps = { a: 3, b: 3, c: 3, d: 3, e: 3, f: 100, g: 100 }
const gateway = useGateway({
  ids,
  config: { largeBodyBytes: 4_000_000, backgroundResponses: 2 },
  catalogue: (urls) => {
    const lines = (line: (name: string, rpm: number) => string) =>
      Object.entries(apps)
        .map(([name, rpm]) => `  - ${line(name, rpm)}\n`)
        .join("")
    return testCatalogue(urls, ids)
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace(
        "apps:\n",
        `apps:\n${lines((name, rpm) => `{ id: ${ids.app}-${name}, org: ${ids.org}, quota: { rpm: ${rpm} } }`)}`,
      )
      .replace(
        "keys:\n",
        `keys:\n${lines((name) => `{ id: ${ids.key}-${name}, app: ${ids.app}-${name}, secret: "env:WEIR_TEST_KEY" }`)}`,
      )
  },
})

const send = async (app: keyof typeof apps | undefined, method: string, path: string, body?: object) => {
  const key = app === undefined ? ids.key : `${ids.key}-${app}`
  const reply = await gateway().call(method, `/openai/v1/${path}`, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    authorization: `Bearer ${key}~${gateway().key}`,
  })
  const json: Record<string, unknown> = JSON.parse(await reply.text())
  return { status: reply.status, retryAfter: reply.headers.get("retry-after"), json }
}

const limited = { status: 429, retryAfter: expect.any(String), json: { error: { code: "rate_limited" } } }

it("a request that names an unknown response is counted, and none is looked for beyond the rate", async () => {
  const call = { model: "main", input: "Hi", previous_response_id: "resp_unknown" }
  for (let at = 0; at < apps.a; at++) {
    expect(await send("a", "POST", "responses", call)).toMatchObject({
      status: 400,
      json: { error: { code: "previous_response_not_found" } },
    })
  }
  expect(await send("a", "POST", "responses", call)).toMatchObject(limited)
  expect(await send("a", "POST", "responses", { ...call, conversation: "conv_1" })).toMatchObject(limited)
})

it("a request that continues a response is counted once", async () => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
  const first = await send("b", "POST", "responses", { model: "main", input: "Hi" })
  const call = { model: "main", input: "Hi", previous_response_id: first.json["id"] }
  expect(await send("b", "POST", "responses", call)).toMatchObject({ status: 200 })
  expect(await send("b", "POST", "responses", call)).toMatchObject({ status: 200 })
  expect(await send("b", "POST", "responses", call)).toMatchObject(limited)
})

it("a list of input items, for which a thread is read, is counted", async () => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
  const { json } = await send("e", "POST", "responses", { model: "main", input: "Hi" })
  const path = `responses/${String(json["id"])}`
  expect(await send("e", "GET", `${path}/input_items`)).toMatchObject({ status: 200 })
  expect(await send("e", "GET", `${path}/input_items`)).toMatchObject({ status: 200 })
  expect(await send("e", "GET", `${path}/input_items`)).toMatchObject(limited)
  expect(await send("e", "GET", path)).toMatchObject({ status: 200 })
})

it("an application has so many responses in the background at a time", async () => {
  gateway().vendor.script(async (call) => {
    call.head()
    await call.write(openaiChunk("Hel"))
    await call.wait(20_000)
  })
  const call = { model: "main", input: "Work", background: true }
  const first = await send("f", "POST", "responses", call)
  expect(first).toMatchObject({ status: 200, json: { status: "queued" } })
  expect(await send("f", "POST", "responses", call)).toMatchObject({ status: 200 })
  const refused = { ...limited, json: { error: { message: expect.stringContaining("in the background") } } }
  expect(await send("f", "POST", "responses", call)).toMatchObject(refused)
  expect(await send("f", "POST", "responses", { ...call, stream: true })).toMatchObject(refused)
  const { json } = await send("g", "POST", "responses", call)
  expect(json).toMatchObject({ status: "queued" })
  expect(await send("f", "POST", `responses/${String(first.json["id"])}/cancel`)).toMatchObject({ status: 200 })
  await expect.poll(async () => (await send("f", "POST", "responses", call)).status).toBe(200)
})

it.each([
  ["creates a conversation", "c", (_: string): string => "conversations"],
  ["adds items to it", "d", (id: string): string => `conversations/${id}/items`],
] as const)("a request that %s is counted", async (_, app, pathOf) => {
  const { json } = await send(app, "POST", "conversations")
  const path = pathOf(String(json["id"]))
  const items = [{ role: "user", content: "Hi" }]
  expect(await send(app, "POST", path, { items })).toMatchObject({ status: 200 })
  expect(await send(app, "POST", path, { items: [{ role: "nobody" }] })).toMatchObject({ status: 400 })
  expect(await send(app, "POST", path, { items })).toMatchObject(limited)
  expect(await send(app, "POST", `conversations/${String(json["id"])}`, { metadata: {} })).toMatchObject(limited)
  expect(await send(app, "GET", `conversations/${String(json["id"])}`)).toMatchObject({ status: 200 })
})

it("bodies of conversations take room", async () => {
  const headers = {
    authorization: `Bearer ${ids.key}~${gateway().key}`,
    "content-type": "application/json",
    "content-length": 3_000_000,
  }
  const slow = request(`${gateway().baseUrl}/openai/v1/conversations`, { method: "POST", headers })
  slow.on("error", () => {})
  slow.write(" ")
  const body = { items: [{ role: "user", content: "x".repeat(2_000_000) }] }
  // Until its head is read.
  await sleep(500)
  expect(await send(undefined, "POST", "conversations", body)).toMatchObject({ status: 429 })
  slow.destroy()
  await expect.poll(async () => (await send(undefined, "POST", "conversations", body)).status).toBe(200)
})

/** A conversation in which an item is so many times. */
const filled = async (content: string, times: number) => {
  const { json } = await send(undefined, "POST", "conversations", { items: [{ role: "user", content }] })
  const id = String(json["id"])
  await Effect.runPromise(gateway().sql`
    insert into conversation_items (org_id, conversation_id, place, id, erase_at, content)
    select i.org_id, i.conversation_id, n, i.id, i.erase_at, i.content
    from conversation_items i, generate_series(1, ${times - 1}) n where i.conversation_id = ${id}`)
  await Effect.runPromise(gateway().sql`update conversations set next_place = ${times} where id = ${id}`)
  return id
}

const full = {
  status: 400,
  json: { error: { type: "invalid_request_error", message: expect.stringContaining("begin another one") } },
}

it("a conversation has at most 10,000 items, and then no response adds to it", async () => {
  const id = await filled("Hi", 9999)
  const items = [{ role: "user", content: "Hi" }]
  const path = `conversations/${id}/items`
  expect(await send(undefined, "POST", path, { items: [...items, ...items] })).toMatchObject(full)
  expect(await send(undefined, "POST", path, { items })).toMatchObject({ status: 200 })
  expect(await send(undefined, "POST", path, { items })).toMatchObject(full)
  const calls = gateway().vendor.calls.length
  expect(await send(undefined, "POST", "responses", { model: "main", input: "Hi", conversation: id })).toMatchObject(
    full,
  )
  expect(gateway().vendor.calls).toHaveLength(calls)
  const { json } = await send(undefined, "GET", `${path}?limit=1&order=asc`)
  expect(json["data"]).toHaveLength(1)
})

it("a conversation has at most as many bytes as a body", async () => {
  const content = Array.from({ length: 400_000 }, () => Math.random().toString(36).slice(2, 4)).join("")
  const id = await filled(content, 90)
  const items = [{ role: "user", content }]
  expect(await send(undefined, "POST", `conversations/${id}/items`, { items })).toMatchObject(full)
  expect(await send(undefined, "POST", `conversations/${id}/items`, { items: [] })).toMatchObject({ status: 200 })
})
