/** A slow client costs a bounded number of bytes, for any reply of the vendor. */
import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import type { TestGateway } from "../../src/testing/gateway.ts"
import { hello, openaiFrame, parseEvents } from "../../src/testing/index.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"
import { oneMegabyte, silentClient } from "../support/silent-client.ts"

const stallMs = 1200
const gateway = useGateway({
  config: { streamStallMs: stallMs, streamHeartbeatMs: 60_000, outputTokenBytes: 10_000_000 },
})

const openStream = (to: TestGateway): Socket => silentClient(to, "/t1/exchange", { ...hello, stream: true })

const readAll = async (socket: Socket): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of socket) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString("utf8")
  // The reply is chunked: the sizes are on separate lines.
  return text.slice(text.indexOf("\r\n\r\n") + 4).replace(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, "")
}

/** Writes up to a gigabyte; returns how much was accepted. */
const flood = (taken: { megabytes: number; isWaiting: boolean }) =>
  gateway().vendor.script(async (call) => {
    call.head()
    for (let sent = 0; sent < 1024; sent++) {
      taken.isWaiting = true
      if (!(await call.write(oneMegabyte))) return
      taken.isWaiting = false
      taken.megabytes++
    }
    call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
  })

describe("a client that does not read, and a vendor that sends 1 GiB", () => {
  it("stops the reading from the vendor, keeps memory bounded, and ends in stream_backpressure", async () => {
    const taken = { megabytes: 0, isWaiting: false }
    flood(taken)
    const rssBefore = process.memoryUsage().rss
    const socket = openStream(gateway())
    await eventually(() => gateway().vendor.calls.length === 1)
    let rssMost = 0
    const endsAt = Date.now() + stallMs - 200
    while (Date.now() < endsAt) {
      rssMost = Math.max(rssMost, process.memoryUsage().rss)
      await sleep(20)
    }
    // The rest of what was taken sits in the kernel's socket buffers.
    expect(taken.isWaiting).toBe(true)
    expect(taken.megabytes).toBeLessThan(32)
    expect(rssMost - rssBefore).toBeLessThan(128 * 1024 * 1024)
    await eventually(async () => (await lastUsage(gateway()))?.estimated_reason === "stream_backpressure")
    await eventually(() => gateway().vendor.calls[0]?.hungUpAt !== undefined)
    expect((await holdsOf(gateway())).every(({ state }) => state === "settled")).toBe(true)
    // A client that reads again in time still gets all buffered events, and the error last.
    const events = parseEvents(await readAll(socket))
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "stream_backpressure" } })
    expect(events.at(-2)).toMatchObject({ event: "t.usage" })
  })

  it("is cut off if it never reads again", async () => {
    flood({ megabytes: 0, isWaiting: false })
    const socket = openStream(gateway())
    let closed = false
    socket.on("error", () => undefined)
    socket.on("close", () => {
      closed = true
    })
    await sleep(stallMs * 2 + 800)
    // A paused socket notices the end only when it reads again.
    socket.resume()
    await eventually(() => closed)
    const afterwards = await gateway().exchange({ ...hello, model: "nope" })
    expect(afterwards.status).toBe(403)
  })
})

describe("a client that reads slowly", () => {
  it("gets everything, however long it takes: the idle timeout is paused meanwhile", async () => {
    const megabytes = 12
    gateway().vendor.script(async (call) => {
      call.head()
      for (let sent = 0; sent < megabytes; sent++) if (!(await call.write(oneMegabyte))) return
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const response = await gateway().exchange({ ...hello, stream: true })
    const reader = response.body?.getReader()
    const chunks: Array<Uint8Array> = []
    let sinceRest = 0
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      chunks.push(next.value)
      sinceRest += next.value.length
      if (sinceRest > 3 * 1024 * 1024) {
        sinceRest = 0
        await sleep(700)
      }
    }
    const events = parseEvents(Buffer.concat(chunks).toString("utf8"))
    expect(events.at(-1)).toMatchObject({ event: "t.close" })
    expect(events.filter(({ event }) => event === "t.delta").length).toBe(megabytes * 1024)
  })
})
