/** Lessons 1, 2, 3, 7 and 11: a client that disconnects, at any moment, in both modes. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import {
  answering,
  anthropicFrames,
  hello,
  openaiChunk,
  openaiFrames,
  type VendorCall,
  type VendorScript,
} from "../../src/testing/index.ts"
import { balanceOf, eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const gateway = useGateway({ config: { drainGoneMs: 1000 } })

const answer = { words: ["one ", "two ", "three"], inTokens: 1000, outTokens: 30 }

/** Starts an exchange and aborts it. Returns the vendor's call and the time of the abort. */
const leaveAfter = async (body: object, moment: (call: VendorCall) => Promise<void>, script: VendorScript) => {
  const abort = new AbortController()
  const seen: { call?: VendorCall } = {}
  gateway().vendor.script((call) => {
    seen.call = call
    return script(call)
  })
  const reply = gateway()
    .exchange(body, { signal: abort.signal })
    .then((response) => response.text())
  reply.catch(() => undefined)
  await eventually(() => seen.call !== undefined)
  const call = seen.call
  if (call === undefined) throw new Error("the vendor was not called")
  await moment(call)
  const leftAt = Date.now()
  abort.abort()
  await expect(reply).rejects.toThrow()
  return { call, leftAt }
}

/**
 * The vendor's connection closes within 100 ms of the client's. A machine that stalls can only add to one attempt, so
 * the best of five counts.
 */
const expectPromptHangUp = async (leave: () => ReturnType<typeof leaveAfter>) => {
  let bestMs = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 5 && bestMs >= 100; attempt++) {
    const { call, leftAt } = await leave()
    await eventually(() => call.hungUpAt !== undefined)
    bestMs = Math.min(bestMs, (call.hungUpAt ?? Number.POSITIVE_INFINITY) - leftAt)
  }
  expect(bestMs).toBeLessThan(100)
}

const noHoldIsLeft = () => eventually(async () => (await holdsOf(gateway())).every(({ state }) => state !== "held"))

describe("a client that leaves", () => {
  it.each([false, true])(
    "before the first frame (stream: %s): the vendor hears of it within 100 ms, nothing is billed",
    async (stream) => {
      const before = await balanceOf(gateway())
      await expectPromptHangUp(() =>
        leaveAfter(
          { ...hello, stream },
          () => sleep(50),
          () => undefined,
        ),
      )
      await noHoldIsLeft()
      expect(await balanceOf(gateway())).toBe(before)
    },
  )

  it("while a whole reply is on its way: the same", async () => {
    const before = await balanceOf(gateway())
    await expectPromptHangUp(() =>
      leaveAfter(
        hello,
        () => sleep(50),
        async (call) => {
          call.head(200, { "content-type": "application/json" })
          await call.write(`{"choices":`)
        },
      ),
    )
    await noHoldIsLeft()
    expect(await balanceOf(gateway())).toBe(before)
  })

  it("after content: the input by estimate and the output seen are billed", async () => {
    await expectPromptHangUp(() =>
      leaveAfter(
        { ...hello, stream: true },
        () => sleep(100),
        async (call) => {
          call.head()
          await call.write(openaiChunk("twelve chars"))
        },
      ),
    )
    await noHoldIsLeft()
    expect(await lastUsage(gateway())).toMatchObject({
      estimated_reason: "client_disconnected",
      stop: "interrupted",
      out_tokens: 4n,
    })
  })

  it("after content of Anthropic's: the input that message_start told is billed", async () => {
    await leaveAfter(
      { ...hello, model: "claude", stream: true },
      () => sleep(100),
      async (call) => {
        call.head()
        for (const frame of anthropicFrames(answer).slice(0, 3)) await call.write(frame)
      },
    )
    await noHoldIsLeft()
    expect(await lastUsage(gateway())).toMatchObject({
      estimated_reason: "client_disconnected",
      in_tokens: 1000n,
      out_tokens: 3n,
    })
  })

  it("after the vendor's terminal event: a normal completion with the vendor's own usage", async () => {
    await leaveAfter(
      { ...hello, stream: true },
      () => sleep(100),
      async (call) => {
        call.head()
        // The finish reason is out; the usage follows after the client has gone.
        const frames = openaiFrames(answer)
        for (const frame of frames.slice(0, -2)) await call.write(frame)
        await call.wait(200)
        for (const frame of frames.slice(-2)) await call.write(frame)
        call.end()
      },
    )
    await noHoldIsLeft()
    expect(await lastUsage(gateway())).toMatchObject({
      estimated_reason: null,
      stop: "end",
      in_tokens: 1000n,
      out_tokens: 30n,
    })
  })

  it("of a vendor with clientGone: drain, the stream is read on for exact usage", async () => {
    const { call } = await leaveAfter(
      { ...hello, model: "drained", stream: true },
      () => sleep(100),
      answering(answer, 60),
    )
    await noHoldIsLeft()
    expect(call.hungUpAt).toBeUndefined()
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: null, out_tokens: 30n })
  })

  it("of a draining vendor that does not end: cut after the bound", async () => {
    const { call, leftAt } = await leaveAfter(
      { ...hello, model: "drained", stream: true },
      () => sleep(100),
      async (call) => {
        call.head()
        while (await call.write(openaiChunk("more "))) await call.wait(20)
      },
    )
    await eventually(() => call.hungUpAt !== undefined)
    expect((call.hungUpAt ?? 0) - leftAt).toBeGreaterThanOrEqual(900)
    await noHoldIsLeft()
    expect(await lastUsage(gateway())).toMatchObject({ estimated_reason: "client_disconnected" })
  })
})

describe("lesson 7: sockets", () => {
  it("after 1,000 aborted exchanges no connection to the vendor is left checked out", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(openaiChunk("a"))
    })
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const abort = new AbortController()
          const response = await gateway().exchange({ ...hello, stream: true }, { signal: abort.signal })
          await response.body?.getReader().read()
          abort.abort()
        }),
      )
    }
    await noHoldIsLeft()
    await eventually(() => gateway().vendor.openSockets() === 0)
    gateway().vendor.script(answering(answer))
    expect((await gateway().exchange(hello)).status).toBe(200)
  })
})
