/** A client's socket that gives no sign of life, and one that does. */
import type { Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { WebSocket, WebSocketServer } from "ws"
import { ClientSocket } from "../../../../src/http/sockets/client-socket.ts"

/**
 * @param answers whether the client answers pings
 * @param answer what each of its messages is answered
 */
const connected = (answers: boolean, answer?: string) =>
  new Promise<{ readonly socket: ClientSocket; readonly client: WebSocket; readonly stop: () => void }>((resolve) => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", autoPong: false })
    server.on("listening", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : 0
      const client = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong: answers })
      server.on("connection", (ws, { socket }: { readonly socket: Socket }) => {
        const made = new ClientSocket(ws, socket)
        made.listen({ message: () => answer !== undefined && made.send(answer), room: () => {}, closed: () => {} })
        client.once("open", () => resolve({ socket: made, client, stop: () => server.close() }))
      })
    })
  })

describe("ClientSocket", () => {
  it("cuts a connection whose client does not answer pings", async () => {
    const { socket, client, stop } = await connected(false)
    const pinged = new Promise((resolve) => client.once("ping", resolve))
    socket.ping()
    await pinged
    expect(socket.isClosed).toBe(false)
    const closed = new Promise((resolve) => client.once("close", resolve))
    socket.ping()
    expect(socket.isClosed).toBe(true)
    expect(await closed).toBe(1006)
    stop()
  })

  it("keeps one whose client answers, or sends anything", async () => {
    for (const answers of [true, false]) {
      const { socket, client, stop } = await connected(answers)
      for (let at = 0; at < 3; at++) {
        const pinged = new Promise((resolve) => client.once("ping", resolve))
        socket.ping()
        await pinged
        if (!answers) client.send("{}")
        await expect.poll(() => socket.isClosed).toBe(false)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      expect(socket.isClosed).toBe(false)
      client.terminate()
      stop()
    }
  })

  it("closes one whose message does not end in five minutes, whatever pings it answers", async () => {
    const { socket, client, stop } = await connected(true)
    const closed = new Promise((resolve) => client.once("close", (code, reason) => resolve([code, String(reason)])))
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
    // Messages that end have no limit, in however many fragments.
    for (let at = 0; at < 20; at++) {
      client.send("begun", { fin: false })
      client.send("ended", { fin: true })
      socket.ping()
      await pause()
    }
    expect(socket.isClosed).toBe(false)
    client.send("begun", { fin: false })
    let pings = 0
    for (; pings < 20 && !socket.isClosed; pings++) {
      await pause()
      socket.ping()
    }
    // A ping each 20 seconds, for five minutes.
    expect(pings).toBeGreaterThanOrEqual(15)
    expect(pings).toBeLessThan(20)
    expect(await closed).toEqual([1008, "the message did not end in time"])
    stop()
  })

  it("reads no more of a client that takes no answers, and goes on when it takes them", async () => {
    const count = 5000
    const { socket, client, stop } = await connected(true, "x".repeat(10_000))
    let received = 0
    client.on("message", () => received++)
    client.pause()
    for (let at = 0; at < count; at++) client.send("y".repeat(1000))
    await expect.poll(() => socket.unsentBytes()).toBeGreaterThan(1024 * 1024)
    let before = -1
    while (before !== socket.unsentBytes()) {
      before = socket.unsentBytes()
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(before).toBeLessThan(4 * 1024 * 1024)
    client.resume()
    await expect.poll(() => received).toBe(count)
    client.terminate()
    stop()
  })

  it("answers no pings of a client that takes no answers", async () => {
    const { socket, client, stop } = await connected(true)
    client.pause()
    let before = -1
    // Until the operating system takes no more.
    for (let sent = 0; sent < 400_000 && before !== socket.unsentBytes(); ) {
      before = socket.unsentBytes() === 0 ? -1 : socket.unsentBytes()
      for (let at = 0; at < 20_000; at++, sent++) client.ping(Buffer.alloc(125))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(before).toBeGreaterThan(0)
    expect(socket.unsentBytes()).toBeLessThan(128 * 1024)
    client.terminate()
    stop()
  })

  it("cuts one that takes no answers until the next ping, and keeps one that takes some", async () => {
    for (const takes of [true, false]) {
      const { socket, client, stop } = await connected(true, "x".repeat(10_000))
      client.pause()
      for (let at = 0; at < 5000; at++) client.send("y".repeat(1000))
      await expect.poll(() => socket.unsentBytes()).toBeGreaterThan(1024 * 1024)
      await new Promise((resolve) => setTimeout(resolve, 300))
      socket.ping()
      expect(socket.isClosed).toBe(false)
      if (takes) {
        let received = 0
        client.on("message", () => ++received === 500 && client.pause())
        client.resume()
        const taken = socket.takenBytes()
        await expect.poll(() => socket.takenBytes()).toBeGreaterThan(taken)
      }
      socket.ping()
      expect(socket.isClosed).toBe(!takes)
      client.terminate()
      stop()
    }
  })
})
