/** Responses in the background that run at their vendor, which stores them until they have ended: one id, one bill. */
import { beforeEach, describe, expect, it } from "vitest"
import {
  makeOpenaiBackground,
  newTestIds,
  repeating,
  responsesTwin,
  serveTwin,
  testCatalogue,
} from "../../../src/testing/index.ts"
import { balanceOf, eventually, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  backgroundSpeed: 10,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace("id: responses, ", "id: responses, background: vendor, "),
})

let twin = makeOpenaiBackground(repeating)
beforeEach(() => {
  twin = makeOpenaiBackground(repeating)
  const others = serveTwin(responsesTwin, repeating)
  gateway().vendor.script((call) => twin.serve(call) ?? others(call))
})

type Json = Readonly<Record<string, unknown>>
const ask = async (method: string, path = "", body?: object): Promise<Json> => {
  const reply = await gateway().call(method, `/openai/v1/responses${path}`, body)
  return JSON.parse(await reply.text())
}
const begin = async (more: object = {}) => {
  const before = gateway().vendor.calls.length
  const begun = await ask("POST", "", { model: "responses", input: "Work", background: true, ...more })
  await eventually(() => gateway().vendor.calls.length > before)
  return { id: String(begun["id"]), begun }
}
const read = (id: string) => ask("GET", `/${id}`)
const until = (id: string, status: string) => eventually(async () => (await read(id))["status"] === status, 30_000)
const billed = () => balanceOf(gateway())

describe("a response in the background of its vendor", () => {
  it("is made once, fetched, billed once, and removed there", async () => {
    const before = await billed()
    const { id, begun } = await begin()
    expect(begun).toMatchObject({ status: "queued", background: true })
    await until(id, "completed")
    const response = await read(id)
    expect(JSON.stringify(response)).toContain("You said: Work")
    expect(JSON.stringify(response)).not.toContain("resp_vendor")
    expect(response).toMatchObject({ id, background: true, usage: { output_tokens: expect.any(Number) } })
    const [created] = gateway().vendor.calls.filter(({ body }) => body["background"] === true)
    expect(created?.body).toMatchObject({ background: true, store: true })
    expect(twin.made()).toBe(1)
    await eventually(() => twin.ids().length === 0)
    expect(await billed()).not.toBe(before)
    const events = await (await gateway().call("GET", `/openai/v1/responses/${id}?stream=true`)).text()
    expect(events).toMatch(/response\.created.*response\.completed/s)
    expect(events).not.toContain("resp_vendor")
    const next = await ask("POST", "", { model: "responses", input: "More", previous_response_id: id })
    expect(next).toMatchObject({ status: "completed" })
  })

  it("is fetched late, and while the vendor does not answer for a moment", async () => {
    twin.plan({ polls: 2, failedPolls: 2 })
    const { id } = await begin()
    await until(id, "completed")
    expect(twin.made()).toBe(1)
  }, 60_000)

  it.each(["failed", "cancelled", "lost"] as const)(
    "has failed if it is %s there, and is not billed",
    async (end) => {
      twin.plan({ end })
      const before = await billed()
      const { id } = await begin()
      await until(id, "failed")
      const response = await read(id)
      expect(response["error"]).toBeTruthy()
      expect(JSON.stringify(response)).not.toMatch(/secret|resp_vendor/)
      expect(await billed()).toBe(before)
    },
    60_000,
  )

  it("is incomplete if it is so there", async () => {
    twin.plan({ end: "incomplete" })
    const { id } = await begin()
    await until(id, "incomplete")
    expect(await read(id)).toMatchObject({ incomplete_details: { reason: "max_output_tokens" } })
  })

  it.each([true, false])(
    "is cancelled there too; it reports usage: %s",
    async (tellsCancelledUsage) => {
      twin.plan({ polls: 1000, tellsCancelledUsage })
      const before = await billed()
      const { id } = await begin()
      await eventually(() => twin.made() === 1)
      expect(await ask("POST", `/${id}/cancel`)).toMatchObject({ status: "cancelled" })
      await eventually(() => twin.cancelled().length > 0, 30_000)
      await eventually(() => twin.ids().length === 0, 30_000)
      expect((await read(id))["status"]).toBe("cancelled")
      if (tellsCancelledUsage) await eventually(async () => (await read(id))["usage"] !== null)
      expect((await billed()) === before).toBe(!tellsCancelledUsage)
    },
    60_000,
  )

  it("is cancelled there when it is erased", async () => {
    twin.plan({ polls: 1000 })
    const { id } = await begin()
    await eventually(() => twin.made() === 1)
    expect(await ask("DELETE", `/${id}`)).toMatchObject({ deleted: true })
    await eventually(() => twin.cancelled().length > 0, 30_000)
  }, 60_000)

  it("is refused as its vendor refuses it", async () => {
    gateway().vendor.script((call) => {
      call.head(400, { "content-type": "application/json" })
      call.end('{"error":{"message":"secret","type":"invalid_request_error","param":null,"code":null}}')
      return Promise.resolve()
    })
    const { id } = await begin()
    await until(id, "failed")
  })

  it("runs at the gateway if its client follows it", async () => {
    const reply = await gateway().call("POST", "/openai/v1/responses", {
      model: "responses",
      input: "Work",
      background: true,
      stream: true,
    })
    expect(await reply.text()).toMatch(/response\.output_text\.delta.*response\.completed/s)
    expect(twin.made()).toBe(0)
  })
})
