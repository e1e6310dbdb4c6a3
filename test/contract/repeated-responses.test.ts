/** A response in the background whose request is sent again with its Idempotency-Key: one response, one call, one bill. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

let keys = 0
const newKey = () => `repeated-${ids.key}-${++keys}`

const Read = Schema.Struct({ id: Schema.String, status: Schema.String })
const readResponse = Schema.decodeUnknownSync(Schema.fromJsonString(Read))

const post = (key: string, more: object = {}) =>
  gateway().call(
    "POST",
    "/openai/v1/responses",
    { model: "main", input: "Work", background: true, ...more },
    { authorization: `Bearer ${gateway().keyId}~${gateway().key}`, "idempotency-key": key },
  )
const begin = async (key: string, script: VendorScript) => {
  gateway().vendor.script(script)
  const reply = await post(key)
  expect(reply.status).toBe(200)
  return readResponse(await reply.text())
}
const again = async (key: string) => {
  const reply = await post(key)
  const text = await reply.text()
  expect(reply.status, text).toBe(200)
  expect(reply.headers.get("x-svc-idempotent-replay")).toBe("1")
  return readResponse(text)
}
const untilIs = (key: string, status: string) => eventually(async () => (await again(key)).status === status)
/** The registry of request ids loses one. */
const forget = (key: string, id: string) =>
  Effect.runPromise(
    gateway().gate.withdraw({
      owner: ids.org,
      keyId: ids.key,
      requestId: key,
      claim: `req_${id.slice("resp_".length, -4)}`,
    }),
  )

const held = () => {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const script: VendorScript = async (call) => {
    await finished
    await answering({ words: ["Done"], inTokens: 10, outTokens: 5 })(call)
  }
  return { script, finish }
}

describe("a repeated request in the background", () => {
  it("gives the response while it runs and after it has ended", async () => {
    const key = newKey()
    const { script, finish } = held()
    const { id } = await begin(key, script)
    expect(await again(key)).toEqual({ id, status: "in_progress" })
    const calls = gateway().vendor.calls.length
    finish()
    await untilIs(key, "completed")
    const balance = await balanceOf(gateway())
    expect(await again(key)).toEqual({ id, status: "completed" })
    expect(gateway().vendor.calls).toHaveLength(calls)
    expect(await balanceOf(gateway())).toBe(balance)
  })

  it("gives it where the registry has forgotten its id", async () => {
    const key = newKey()
    const { script, finish } = held()
    const { id } = await begin(key, script)
    await forget(key, id)
    expect((await again(key)).id).toBe(id)
    finish()
    await untilIs(key, "completed")
    expect((await again(key)).id).toBe(id)
  })

  it("is followed as a stream", async () => {
    const key = newKey()
    const { script, finish } = held()
    const { id } = await begin(key, script)
    const stream = await post(key, { stream: true })
    finish()
    const text = await stream.text()
    expect(stream.headers.get("content-type")).toContain("text/event-stream")
    expect(text).toContain(id)
    expect(text.match(/^event: response\.(created|completed)$/gm)).toEqual([
      "event: response.created",
      "event: response.completed",
    ])
  })

  it("gives a failed response again: a new call needs another key", async () => {
    const key = newKey()
    const { id } = await begin(key, (call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }))
    })
    await untilIs(key, "failed")
    expect(await again(key)).toEqual({ id, status: "failed" })
  })

  it("with another payload is a conflict, also where the registry has forgotten it", async () => {
    const key = newKey()
    const { script, finish } = held()
    const { id } = await begin(key, script)
    const isRefused = async () => {
      const reply = await post(key, { input: "Other work" })
      expect([reply.status, await reply.text()]).toEqual([409, expect.stringContaining("different payload")])
    }
    await isRefused()
    await forget(key, id)
    await isRefused()
    expect((await again(key)).id).toBe(id)
    finish()
    await untilIs(key, "completed")
    await isRefused()
  })

  it("of an erased response gives nothing, and calls nobody", async () => {
    const key = newKey()
    const { id } = await begin(key, answering({ words: ["Done"], inTokens: 10, outTokens: 5 }))
    await untilIs(key, "completed")
    const calls = gateway().vendor.calls.length
    await gateway().call("DELETE", `/openai/v1/responses/${id}`, undefined, {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
    })
    const reply = await post(key)
    expect([reply.status, await reply.text()]).toEqual([409, expect.stringContaining("cannot be replayed")])
    expect(gateway().vendor.calls).toHaveLength(calls)
  })

  it("of another key of the application is a call of its own", async () => {
    const key = newKey()
    const { id } = await begin(key, answering({ words: ["Done"], inTokens: 10, outTokens: 5 }))
    const token = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
    const { token: secret } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(await token.json(), {
      onExcessProperty: "ignore",
    })
    const reply = await gateway().call(
      "POST",
      "/openai/v1/responses",
      { model: "main", input: "Work", background: true },
      { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-app-token": secret, "idempotency-key": key },
    )
    expect(reply.status === 409 || readResponse(await reply.text()).id !== id).toBe(true)
  })
})
