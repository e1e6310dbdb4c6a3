/** Calls that wait for the reply of another: slow clients, long replies, a gateway that stops. */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { type GatewayOptions, startGateway } from "../../src/testing/gateway.ts"
import { answering, hello, newTestIds, openaiChunk, openaiFrame, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, replyOf, useGateway } from "../support/gateway.ts"
import { oneMegabyte, silentClient } from "../support/silent-client.ts"

const ids = newTestIds()

const options: GatewayOptions = {
  ids,
  // A client that does not read is not given up while a test lasts.
  config: { replyCacheWaitMs: 30_000, streamStallMs: 600_000, outputTokenBytes: 1_000_000 },
  catalogue: (urls) =>
    testCatalogue(urls, ids).replace("- handle: main\n", "- handle: main\n    replyCache: { ttl: 10m }\n"),
}
const gateway = useGateway(options)

let asked = 0
/** A request that was not made before. */
const fresh = (more: object = {}) => ({
  ...hello,
  thread: [{ role: "user", blocks: [{ t: "text", v: `shared ${asked++}` }] }],
  ...more,
})
const stateOf = (reply: Response) => reply.headers.get("x-svc-cache")

const ended =
  openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
  openaiFrame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 10 } }) +
  openaiFrame("[DONE]")

describe("a reply that others wait for", () => {
  it("is whole for them though the client of the call reads nothing", async () => {
    let hasOther = false
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("first"))
      await eventually(() => hasOther)
      for (let megabytes = 0; megabytes < 24; megabytes++) await call.write(oneMegabyte)
      call.end(ended)
    })
    const body = fresh({ stream: true })
    const before = gateway().vendor.calls.length
    const first = silentClient(gateway(), "/t1/exchange", body)
    await eventually(() => gateway().vendor.calls.length > before)
    const other = await gateway().exchange(body)
    hasOther = true
    const text = await other.text()
    expect([stateOf(other), text.match(/x{1024}/g)?.length]).toEqual(["hit", 24 * 1024])
    expect(text).toContain("t.close")
    expect(gateway().vendor.calls.length).toBe(before + 1)
    first.destroy()
  })

  it("is not kept if it has more than a megabyte, and is whole each time", async () => {
    gateway().vendor.script(answering({ words: ["y".repeat(1_200_000)], inTokens: 10, outTokens: 400_000 }))
    const body = fresh()
    for (const _ of [1, 2]) {
      const reply = await gateway().exchange(body)
      expect(stateOf(reply)).toBe("miss")
      expect((await replyOf(reply)).blocks).toEqual([{ t: "text", v: "y".repeat(1_200_000), cacheable: false }])
      await sleep(20)
    }
  })
})

it("who waits is told to send the request again if the gateway stops", async () => {
  const scope = Scope.makeUnsafe()
  const own = await Effect.runPromise(
    Scope.provide(startGateway({ ...options, config: { ...options.config, drainTimeoutMs: 200 } }), scope),
  )
  // The first call fails, the next in line makes another: who waits then is the first of those that are ended.
  let made = 0
  own.vendor.script(async (call) => {
    await call.wait(made++ === 0 ? 300 : 10_000)
    call.head(500, { "content-type": "application/json" })
    call.end("{}")
  })
  const body = fresh()
  const failed = own.exchange(body)
  await eventually(() => own.vendor.calls.length === 1)
  const next = own.exchange(body)
  await sleep(50)
  const other = own.exchange(body)
  expect((await failed).status).toBe(502)
  await eventually(() => own.vendor.calls.length === 2)
  const closing = Effect.runPromise(Scope.close(scope, Exit.void))
  for (const reply of [other, next]) {
    expect(await errorOf(await reply)).toMatchObject({
      status: 500,
      code: "internal_error",
      detail: { retryable: true },
    })
  }
  await closing
})

it("a reply that costs nothing has spent its request id when it comes: the same request at once is a replay", async () => {
  gateway().vendor.script(answering({ words: ["once"], inTokens: 10, outTokens: 10 }))
  const body = fresh()
  await (await gateway().exchange(body)).text()
  await sleep(20)
  for (let at = 0; at < 40; at++) {
    const same = { ...body, meta: { requestId: randomUUID() } }
    const hit = await gateway().exchange(same)
    expect([hit.status, stateOf(hit)]).toEqual([200, "hit"])
    const one = await hit.text()
    const again = await gateway().exchange(same)
    expect([again.status, again.headers.get("x-svc-idempotent-replay")]).toEqual([200, "1"])
    expect(await again.text()).toBe(one)
  }
})
