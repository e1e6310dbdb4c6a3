/** Lesson 6: a slow client costs a bounded number of bytes, whatever the vendor sends. */
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { hello, openaiChunk, openaiFrame, parseEvents, type TestGateway } from "../../src/testing/index.ts"
import { eventually, holdsOf, lastUsage, useGateway } from "../conformance/gateway.ts"

const stallMs = 1200
const gateway = useGateway({ config: { streamStallMs: stallMs, streamHeartbeatMs: 60_000 } })

/** A client on a bare socket, which reads on demand only. */
const openStream = ({ baseUrl, keyId, key }: TestGateway): Socket => {
  const { port } = new URL(baseUrl)
  const socket = connect({ port: Number(port), host: "127.0.0.1" })
  const body = JSON.stringify({ ...hello, stream: true })
  socket.pause()
  socket.write(
    `POST /t1/exchange HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-svc-key-id: ${keyId}\r\nx-svc-key: ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return socket
}

const readAll = async (socket: Socket): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of socket) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString("utf8")
  // The reply is chunked: the sizes are on separate lines.
  return text.slice(text.indexOf("\r\n\r\n") + 4).replace(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, "")
}

const oneMegabyte = openaiChunk("x".repeat(1024)).repeat(1024)

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
