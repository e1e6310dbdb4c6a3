/** Replies that are kept for a caller that repeats a request. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { openReply, sealReply } from "../../../src/calls/reply/replay-record.ts"
import {
  completedReply,
  type FinishedReply,
  replayedReply,
  replyWith,
  type SettledUsage,
  textOfFinished,
} from "../../../src/calls/reply/reply-body.ts"
import { makeSealer } from "../../../src/store/seal.ts"

const sealer = makeSealer("master")
const keptFor = { owner: "org", ref: "req_1" }

const usage: SettledUsage = {
  inTokens: 1,
  outTokens: 2,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "0.5",
  currency: "USD",
  cacheNetSaving: "0",
}
const replyOf = (text: string, dims?: Readonly<Record<string, number>>) =>
  completedReply(
    "req_1",
    (balance) => ({ blocks: [{ t: "text", v: text }], usage: { ...usage, ...(dims && { dims }), balance } }),
    usage,
    [],
  )

const sealed = (reply: FinishedReply<object>) => sealReply(sealer, keptFor, "hash", reply) ?? ""

describe("a kept reply", () => {
  it.prop("is the first reply again, whatever the model said", [Schema.String, Schema.BigInt], ([text, balance]) => {
    const finished = replyOf(text)
    const kept = openReply(sealer, keptFor, sealed(finished))
    const first = replyWith(finished, balance)
    expect(kept?.payloadHash).toBe("hash")
    const again = kept && replayedReply(kept.reply, balance)
    expect(again?.body).toBe(JSON.stringify(first.body))
    expect(again).toMatchObject({
      status: first.status,
      headers: { "x-svc-idempotent-replay": "1", "x-svc-cost": "0.5" },
    })
  })

  it.each([`"balance":""`, `\n"balance":""\n`, "\u2028"])("names the balance once, beside a text like %j", (text) => {
    const finished = replyOf(text, { balance: 7 })
    const reply = replayedReply(textOfFinished(finished), 15_000_000_000n)
    expect(JSON.parse(String(reply.body))).toMatchObject({
      blocks: [{ t: "text", v: text }],
      usage: { balance: "1.5", dims: { balance: 7 } },
    })
    expect(reply.headers["x-svc-balance"]).toBe("1.5")
  })

  it("opens with its key, for its organisation and its call only", () => {
    const kept = sealed(replyOf("secret"))
    expect(Buffer.from(kept, "base64").includes("secret")).toBe(false)
    expect(openReply(makeSealer("other"), keptFor, kept)).toBeUndefined()
    expect(openReply(sealer, { ...keptFor, owner: "another" }, kept)).toBeUndefined()
    expect(openReply(sealer, { ...keptFor, ref: "req_2" }, kept)).toBeUndefined()
    expect(openReply(makeSealer("new", "master"), keptFor, kept)?.payloadHash).toBe("hash")
    for (const nonsense of ["", "AAAA", "not base64"]) expect(openReply(sealer, keptFor, nonsense)).toBeUndefined()
  })

  it("has a limit of 256 KiB, in bytes", () => {
    const room = 256 * 1024 - Buffer.byteLength(textOfFinished(replyOf("")).parts.join(""))
    expect(sealed(replyOf("x".repeat(room)))).not.toBe("")
    expect(sealed(replyOf("x".repeat(room + 1)))).toBe("")
    expect(sealed(replyOf("é".repeat(room / 2 + 1)))).toBe("")
  })
})
