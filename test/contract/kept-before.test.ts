/** Responses and conversations of an organisation that keeps none any more: unreadable, and still erased and cancelled. */
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const catalogueOf = (urls: { readonly vendor: string; readonly second: string }, keeps: string) =>
  testCatalogue(urls, ids).replace("name: Test,", `name: Test, ${keeps}`)
const kept = 'keeps: { responses: "30d" },'
let vendors = { vendor: "", second: "" }
const gateway = useGateway({
  ids,
  catalogue: (urls) => {
    vendors = urls
    return catalogueOf(urls, kept)
  },
})

/** Applies another time of keeping. */
const keep = (keeps: string) => Effect.runPromise(gateway().catalogue.apply(catalogueOf(vendors, keeps)))

const send = (method: string, path: string, body?: object) =>
  gateway().call(method, `/openai/v1${path}`, body, {
    authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
  })
const readId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))
const make = async (path: string, body: object = {}) => readId(await (await send("POST", path, body)).json()).id
const request = { model: "main", input: "Hello" }

beforeEach(async () => {
  gateway().vendor.script(answering({ words: ["Hello"], inTokens: 10, outTokens: 2 }))
  await keep(kept)
})

describe("an organisation that keeps no responses any more", () => {
  it("cannot read those that are there, and its owner erases them", async () => {
    const id = await make("/responses", request)
    await keep("")
    expect((await send("GET", `/responses/${id}`)).status).toBe(404)
    expect((await send("POST", `/responses/${id}/cancel`)).status).toBe(404)
    expect(await (await send("DELETE", `/responses/${id}`)).json()).toEqual({ id, object: "response", deleted: true })
    expect((await send("DELETE", `/responses/${id}`)).status).toBe(404)
    await keep(kept)
    expect((await send("GET", `/responses/${id}`)).status).toBe(404)
  })

  it("cancels a response that runs", async () => {
    gateway().vendor.script(async (call) => await call.wait(20_000))
    const before = gateway().vendor.calls.length
    const id = await make("/responses", { ...request, background: true })
    await eventually(() => gateway().vendor.calls.length > before)
    await keep("")
    expect((await send("GET", `/responses/${id}`)).status).toBe(404)
    const cancelled = await send("POST", `/responses/${id}/cancel`)
    expect([cancelled.status, await cancelled.json()]).toEqual([
      200,
      expect.objectContaining({ id, status: "cancelled", output: [] }),
    ])
    await eventually(() => gateway().vendor.calls.at(-1)?.hungUpAt !== undefined)
  })

  it("erases a conversation", async () => {
    const id = await make("/conversations", { items: [{ role: "user", content: "Hello" }] })
    await keep("")
    expect((await send("GET", `/conversations/${id}`)).status).toBe(404)
    expect((await send("DELETE", `/conversations/${id}`)).status).toBe(200)
    await keep(kept)
    expect((await send("GET", `/conversations/${id}`)).status).toBe(404)
  })

  it.each([
    [{ background: true }, "background", "the organisation keeps no responses"],
    [{ conversation: `conv_${"a".repeat(32)}` }, "conversation", "the organisation keeps no responses"],
    [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input", "send the item itself"],
  ])("says why it refuses %j", async (more, param, message) => {
    await keep("")
    const reply = await send("POST", "/responses", { ...request, ...more })
    const text = await reply.text()
    expect([reply.status, JSON.parse(text)]).toMatchObject([
      400,
      { error: { param, message: expect.stringContaining(message) } },
    ])
    expect(text).not.toContain("Try again with")
  })

  it("has its operator erase them", async () => {
    const id = await make("/responses", request)
    await keep("")
    const admin = (method: string, path: string) =>
      gateway().call(method, `/v1/admin/orgs/${ids.org}/responses${path}`, undefined, {
        "x-svc-admin-key": gateway().adminKey,
      })
    expect(await (await admin("GET", "")).text()).toContain(id)
    expect((await admin("DELETE", `/${id}`)).status).toBe(200)
    expect(await errorOf(await admin("DELETE", `/${id}`))).toMatchObject({ code: "not_found" })
  })
})
