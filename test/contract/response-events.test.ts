/** Webhooks of responses that run without their client: one event at the end of each, without content. */
import { Schema } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue, testWebhookSecret, type VendorScript } from "../../src/testing/index.ts"
import { eventually, useGateway } from "../support/gateway.ts"
import { startReceiver } from "../support/receiver.ts"

const receiver = await startReceiver(testWebhookSecret)
afterAll(() => receiver.stop())
receiver.answer = () => 204

const ids = newTestIds()
const events = ["response.completed", "response.failed", "response.cancelled"]
const hook = `{ id: hook_${ids.org}, url: "http://127.0.0.1:${receiver.port}/", secret: "env:WEIR_TEST_WEBHOOK", events: [${events}] }`
const gateway = useGateway({
  ids,
  backgroundSpeed: 10,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `webhooks: [${hook}]`).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const Made = Schema.Struct({ id: Schema.String })
const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  gateway().call(method, `/openai/v1/responses${path}`, body, {
    authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
    ...headers,
  })
const make = async (body: object = {}, headers: Record<string, string> = {}) => {
  const request = { model: "main", input: "A secret question", background: true, ...body }
  const reply = await call("POST", "", request, headers)
  return Schema.decodeUnknownSync(Made)(await reply.json()).id
}
const eventOf = async (id: string) => {
  await eventually(async () => receiver.received.some(({ data }) => data["response"] === id))
  return receiver.received.filter(({ data }) => data["response"] === id)
}
const saying = answering({ words: ["A secret reply"], inTokens: 10, outTokens: 2 })

describe("a response in the background", () => {
  it("that completes is one event, of its call, without content", async () => {
    gateway().vendor.script(saying)
    const id = await make()
    const told = await eventOf(id)
    expect(told).toMatchObject([{ type: "response.completed" }])
    expect(told[0]?.data).toEqual({
      org: ids.org,
      response: id,
      status: "completed",
      model: "main",
      appId: ids.app,
      requestId: `req_${id.slice(5, 21)}`,
      ref: `req_${id.slice(5, 21)}`,
    })
    expect(JSON.stringify(told)).not.toContain("secret")
  })

  it.each<readonly [string, VendorScript, string]>([
    ["completes", saying, "response.completed"],
    [
      "fails",
      (vendorCall) => {
        vendorCall.head(400, { "content-type": "application/json" })
        vendorCall.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }))
      },
      "response.failed",
    ],
  ])("that %s has the ids of its call, that of its client and the gateway's", async (_, script, type) => {
    gateway().vendor.script(script)
    const key = `event-${type}-${ids.key}`
    const id = await make({}, { "idempotency-key": key })
    const ref = `req_${id.slice(5, 21)}`
    expect(await eventOf(id)).toMatchObject([{ type, data: { requestId: key, ref } }])
  })

  it("that is cancelled twice is one event", async () => {
    gateway().vendor.script(async (vendorCall) => await vendorCall.wait(20_000))
    const id = await make()
    await call("POST", `/${id}/cancel`)
    await call("POST", `/${id}/cancel`)
    expect(await eventOf(id)).toMatchObject([{ type: "response.cancelled", data: { status: "cancelled" } }])
  })

  it("that fails is one event", async () => {
    gateway().vendor.script((vendorCall) => {
      vendorCall.head(400, { "content-type": "application/json" })
      vendorCall.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }))
    })
    const id = await make()
    expect(await eventOf(id)).toMatchObject([{ type: "response.failed", data: { status: "failed", model: "main" } }])
  })
})

it("a response that its client waits for is no event, nor is one that was erased", async () => {
  gateway().vendor.script(async (vendorCall) => await vendorCall.wait(20_000))
  const erased = await make()
  await call("DELETE", `/${erased}`)
  gateway().vendor.script(saying)
  const waited = await make({ background: false })
  const last = await make()
  await eventOf(last)
  const named = receiver.received.map(({ data }) => data["response"])
  expect(named).not.toContain(erased)
  expect(named).not.toContain(waited)
  expect(new Set(named).size).toBe(receiver.received.length)
})
