/** The state table's rows "Exchange request id", and the ledger behind them. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { dayOf } from "../../../src/protocol/values/utc8.ts"
import { answering, hello, openaiChunk, readEvents } from "../../../src/testing/index.ts"
import { errorOf, eventually, holdsOf, replyOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()

const answer = { words: ["once"], inTokens: 10, outTokens: 1 }
const withId = (requestId: string, more: object = {}) => ({ ...hello, ...more, meta: { requestId } })
const settled = async () => (await holdsOf(gateway())).filter(({ state }) => state === "settled").length

describe("Exchange request id", () => {
  it("(none) → in progress → completed: one upstream call, one billing, and the id is echoed", async () => {
    const before = { calls: gateway().vendor.calls.length, settled: await settled() }
    const requestId = randomUUID()
    const reply = await replyOf(await gateway().exchange(withId(requestId)))
    expect(reply.clientRequestId).toBe(requestId)
    expect(gateway().vendor.calls.length - before.calls).toBe(1)
    expect((await settled()) - before.settled).toBe(1)
  })

  it("in progress → same key retried: 202 with retryAfterMs, and the first call goes on", async () => {
    const requestId = randomUUID()
    gateway().vendor.script(answering(answer, 300))
    const first = gateway().exchange(withId(requestId))
    await eventually(async () => {
      const second = await gateway().exchange(withId(requestId))
      if (second.status !== 202) return false
      expect(await second.json()).toEqual({ status: "in_progress", requestId, retryAfterMs: 1000 })
      expect(second.headers.get("retry-after")).toBe("1")
      return true
    })
    expect((await first).status).toBe(200)
  })

  it("in progress → upstream rejects → failed: the same id may be retried, and nothing was billed", async () => {
    const requestId = randomUUID()
    const before = await settled()
    gateway().vendor.script((call) => {
      call.head(429, { "content-type": "application/json" })
      call.end(`{"error":{"code":"rate_limit_exceeded"}}`)
    })
    expect(await errorOf(await gateway().exchange(withId(requestId)))).toMatchObject({ code: "upstream_error" })
    expect(await settled()).toBe(before)
    gateway().vendor.script(answering(answer))
    expect((await gateway().exchange(withId(requestId))).status).toBe(200)
    expect((await settled()) - before).toBe(1)
  })

  it("completed → same id, same payload: the snapshot, with x-svc-idempotent-replay", async () => {
    gateway().vendor.script(answering(answer))
    const requestId = randomUUID()
    const first = await gateway().exchange(withId(requestId))
    const calls = gateway().vendor.calls.length
    const second = await gateway().exchange(withId(requestId))
    expect(first.headers.get("x-svc-idempotent-replay")).toBeNull()
    expect(second.headers.get("x-svc-idempotent-replay")).toBe("1")
    expect(await second.text()).toBe(await first.text())
    for (const header of ["x-svc-request-id", "x-svc-cost", "x-svc-balance", "x-svc-currency"]) {
      expect(second.headers.get(header)).toBe(first.headers.get(header))
    }
    expect(gateway().vendor.calls.length).toBe(calls)
  })

  it("the payload's key order does not matter", async () => {
    const requestId = randomUUID()
    await gateway().exchange(withId(requestId))
    const turned = { meta: { requestId }, thread: hello.thread, model: hello.model }
    expect((await gateway().exchange(turned)).headers.get("x-svc-idempotent-replay")).toBe("1")
  })

  it("completed → same id, another payload: 409", async () => {
    const requestId = randomUUID()
    await gateway().exchange(withId(requestId))
    const other = withId(requestId, { params: { maxTokens: 7 } })
    expect(await errorOf(await gateway().exchange(other))).toMatchObject({ status: 409, code: "idempotency_conflict" })
  })

  it("completed → streamed: 409 with replayable=false", async () => {
    const requestId = randomUUID()
    await readEvents(await gateway().exchange(withId(requestId, { stream: true })))
    expect(await errorOf(await gateway().exchange(withId(requestId, { stream: true })))).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
      detail: { replayable: false },
    })
  })

  it("completed → oversize: 409 with replayable=false", async () => {
    const requestId = randomUUID()
    gateway().vendor.script(answering({ ...answer, words: ["x".repeat(300 * 1024)] }))
    expect((await gateway().exchange(withId(requestId))).status).toBe(200)
    expect(await errorOf(await gateway().exchange(withId(requestId)))).toMatchObject({ detail: { replayable: false } })
  })

  it("completed → interrupted: a billed call is not made again", async () => {
    const requestId = randomUUID()
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("half an ans"))
      await call.wait(50)
      call.reset()
    })
    const events = await readEvents(await gateway().exchange(withId(requestId, { stream: true })))
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_disconnected" } })
    expect(await errorOf(await gateway().exchange(withId(requestId, { stream: true })))).toMatchObject({
      detail: { replayable: false },
    })
    gateway().vendor.script(answering(answer))
  })

  it("500 identical calls at once: one upstream call, one charge, the others 202 or the replay", async () => {
    gateway().vendor.script(answering(answer, 50))
    const requestId = randomUUID()
    const before = { calls: gateway().vendor.calls.length, settled: await settled() }
    const replies = await Promise.all(Array.from({ length: 500 }, () => gateway().exchange(withId(requestId))))
    const fresh = replies.filter(({ status, headers }) => status === 200 && !headers.has("x-svc-idempotent-replay"))
    expect(fresh.length).toBe(1)
    expect(replies.every(({ status }) => status === 200 || status === 202)).toBe(true)
    expect(gateway().vendor.calls.length - before.calls).toBe(1)
    expect((await settled()) - before.settled).toBe(1)
  })

  it("a reservation in the ledger whose idempotency record is lost: 409, and no upstream call", async () => {
    const requestId = randomUUID()
    const { ledger, orgId, keyId, vendor } = gateway()
    const hold = {
      ref: randomUUID(),
      orgId,
      currency: "USD",
      keyId,
      requestId,
      amount: 1n,
      day: dayOf(Date.now()),
    }
    const held = await Effect.runPromise(ledger.hold(hold))
    await Effect.runPromise(ledger.checkpoint([{ hold: held, settlement: undefined }]))
    const calls = vendor.calls.length
    expect(await errorOf(await gateway().exchange(withId(requestId)))).toMatchObject({
      status: 409,
      code: "idempotency_conflict",
    })
    expect(vendor.calls.length).toBe(calls)
    await Effect.runPromise(ledger.release(held))
  })

  it("without meta.requestId a call is not idempotent", async () => {
    const calls = gateway().vendor.calls.length
    await gateway().exchange(hello)
    await gateway().exchange(hello)
    expect(gateway().vendor.calls.length - calls).toBe(2)
  })
})
