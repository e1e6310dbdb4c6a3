/** Frames to clients, read by the library that clients use. */

import { describe, expect, it } from "@effect/vitest"
import { WebSocket, WebSocketServer } from "ws"
import { frameAround, frameOf, frameOfBytes, framesIn } from "../../../../src/http/sockets/frames.ts"

/** The messages that a client reads if it gets these bytes after its handshake. */
const read = (bytes: Buffer, count: number): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
    server.on("connection", (_, { socket }) => socket.write(bytes))
    server.on("listening", () => {
      const address = server.address()
      const ws = new WebSocket(`ws://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
      const messages: Array<string> = []
      const done = () => {
        ws.terminate()
        server.close()
        resolve(messages)
      }
      ws.on("error", reject)
      ws.on("open", () => count === 0 && done())
      ws.on("message", (data: Buffer) => {
        messages.push(data.toString("utf8"))
        if (messages.length === count) done()
      })
    })
  })

const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]

describe("frames", () => {
  it.each(sizes)("of %i bytes are read as they were written", async (size) => {
    for (const message of ["x".repeat(size), "é".repeat(Math.floor(size / 2)) + "x".repeat(size % 2)]) {
      expect(await read(Buffer.from(frameOf(message), "latin1"), 1)).toEqual([message])
      expect(await read(frameOfBytes(Buffer.from(message)), 1)).toEqual([message])
      expect(await read(Buffer.from(frameAround("{", message, "}"), "latin1"), 1)).toEqual([`{${message}}`])
    }
  })

  it("are taken apart as they were put together", async () => {
    const texts = ["", "a", "ä", "\u{1f30a} river", "\0\x7f\x80\xff", "x".repeat(126), "ß".repeat(40_000)]
    const messages = texts.flatMap((one) => texts.map((other) => one + other))
    const together = messages.map(frameOf).join("")
    expect(await read(Buffer.from(together, "latin1"), messages.length)).toEqual(messages)
    const apart = framesIn(together)
    expect(apart.map(({ bytes }) => bytes)).toEqual(messages.map((message) => Buffer.byteLength(message)))
    expect(apart.map(({ text }) => text).join("")).toBe(together)
  })
})
