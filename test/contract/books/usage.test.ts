/** `POST /t1/usage`: its rules, and the limits of each field. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { UsageReceipt } from "../../../src/protocol/usage-report.ts"
import { balanceOf, errorOf, useGateway } from "../../support/gateway.ts"

const gateway = useGateway()
const event = (more: object = {}) => ({
  clientEventId: randomUUID(),
  modelHandle: "direct",
  modelId: "vendor-model",
  inTokens: 10,
  outTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  estimated: false,
  occurredAt: new Date().toISOString(),
  ...more,
})
const report = (events: ReadonlyArray<object>, more: object = {}) =>
  gateway().call("POST", "/t1/usage", { events, ...more })
const decodeReceipt = Schema.decodeUnknownSync(UsageReceipt, { onExcessProperty: "error" })
const receipt = async (response: Response) => decodeReceipt(await response.json())

interface Row {
  readonly source: string
  readonly billable: number
  readonly cost: string
  readonly key_id: string
  readonly session_id: string | null
}

describe("what is reported", () => {
  it("rules 1 and 3: is recorded with source client, billable 0, cost 0 and the key; the balance stays", async () => {
    const before = await balanceOf(gateway())
    const sent = event({ sessionId: "ses_1", purpose: "chat" })
    expect(await receipt(await report([sent]))).toEqual({ accepted: 1, duplicates: 0 })
    const [row] = await Effect.runPromise(
      gateway().sql<Row>`
        select source, billable, cost::text, key_id, session_id from client_usage_records
        where client_event_id = ${sent.clientEventId}`,
    )
    expect(row).toEqual({
      source: "client",
      billable: 0,
      cost: "0.0000000000",
      key_id: gateway().keyId,
      session_id: "ses_1",
    })
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("rule 2: each event counts once by its id, within a report and across reports", async () => {
    const [a, b] = [event(), event()]
    expect(await receipt(await report([a, a, b]))).toEqual({ accepted: 2, duplicates: 1 })
    expect(await receipt(await report([b, event()]))).toEqual({ accepted: 1, duplicates: 1 })
    const same = event()
    const receipts = await Promise.all(Array.from({ length: 20 }, async () => receipt(await report([same]))))
    expect(receipts.filter(({ accepted }) => accepted === 1).length).toBe(1)
  })

  it("200 events are accepted, 201 are not; an empty list is accepted", async () => {
    expect(await receipt(await report(Array.from({ length: 200 }, () => event())))).toEqual({
      accepted: 200,
      duplicates: 0,
    })
    expect(await errorOf(await report(Array.from({ length: 201 }, () => event())))).toMatchObject({ status: 400 })
    expect(await receipt(await report([]))).toEqual({ accepted: 0, duplicates: 0 })
  })

  it("each field passes at its limit", async () => {
    const atLimit = event({ clientEventId: "x".repeat(64), purpose: `a${"b".repeat(15)}`, sessionId: "s".repeat(64) })
    expect(await receipt(await report([atLimit]))).toEqual({ accepted: 1, duplicates: 0 })
  })

  it.each([
    ["rule 4: a field outside the list", event({ prompt: "hello" }), {}],
    ["rule 4: a field beside the events", event(), { text: "hello" }],
    ["a clientEventId of 65 characters", event({ clientEventId: "x".repeat(65) }), {}],
    ["a purpose of 17 characters", event({ purpose: `a${"b".repeat(16)}` }), {}],
    ["a purpose that is not well-formed", event({ purpose: "Chat" }), {}],
    ["cacheReadTokens below 0", event({ cacheReadTokens: -1 }), {}],
    ["cacheWriteTokens below 0", event({ cacheWriteTokens: -1 }), {}],
    ["half a token", event({ inTokens: 0.5 }), {}],
    ["no instant", event({ occurredAt: "yesterday" }), {}],
    ["a date that the calendar does not have", event({ occurredAt: "2026-02-30T00:00:00Z" }), {}],
    ["the year 0", event({ occurredAt: "0000-01-01T00:00:00Z" }), {}],
    ["a date of another century", event({ occurredAt: "1900-01-01T00:00:00Z" }), {}],
    ["a date that is far ahead", event({ occurredAt: "9999-12-31T00:00:00Z" }), {}],
    ["an id with U+0000", event({ clientEventId: "a\u0000" }), {}],
    ["an id with a lone surrogate", event({ clientEventId: "\ud800" }), {}],
    ["estimated as text", event({ estimated: "no" }), {}],
  ])("%s is bad_request, and nothing of the report is kept", async (_rule, wrong, more) => {
    const good = event()
    expect(await errorOf(await report([good, wrong], more))).toMatchObject({ status: 400, code: "bad_request" })
    expect(await receipt(await report([good]))).toEqual({ accepted: 1, duplicates: 0 })
  })

  it("a wrong key is app_key_invalid", async () => {
    const response = await gateway().call("POST", "/t1/usage", { events: [event()] }, { "x-svc-key": "wrong" })
    expect(await errorOf(response)).toMatchObject({ status: 401, code: "app_key_invalid" })
  })
})
