/** Sockets that are left when the server does not answer. */
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { Redacted } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { serverSockets } from "../../../src/store/server-socket.ts"
import { portOf } from "../../../src/testing/port.ts"

/** Answers what asks for it. */
const server = createServer((socket) => {
  socket.on("data", (bytes) => bytes.includes("answer") && socket.write("ok")).on("error", () => undefined)
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
afterAll(() => new Promise((resolve) => server.close(resolve)))

const silenceMs = 200
const socketsOf = () => {
  const open = serverSockets(Redacted.make(`postgres://me@127.0.0.1:${portOf(server)}/db`), silenceMs)
  if (open === undefined) throw new Error("no sockets")
  return () => {
    const socket = open()
    socket.on("error", () => undefined).resume()
    return socket
  }
}
/** The time until a socket closes that has had an answer, and whose next request gets none. */
const closed = async (socket: Socket) => {
  socket.write("answer")
  await once(socket, "data")
  // A question that is written when an answer arrives counts as answered, until more is written.
  await sleep(silenceMs / 2)
  const beganMs = performance.now()
  socket.write("question")
  await new Promise((resolve) => socket.once("close", resolve))
  return performance.now() - beganMs
}

describe("a socket to PostgreSQL", () => {
  it("is left when the server owes an answer for so long, though more is written", async () => {
    const socket = socketsOf()()
    const writing = setInterval(() => socket.write("question"), silenceMs / 4)
    expect(await closed(socket)).toBeLessThan(10 * silenceMs)
    clearInterval(writing)
  })

  it("stays while nothing is owed, and while there are answers", async () => {
    const open = socketsOf()
    const [idle, busy] = [open(), open()]
    idle.write("answer")
    for (let times = 0; times < 15; times++) {
      busy.write("answer")
      await sleep(silenceMs / 5)
    }
    expect([idle.destroyed, busy.destroyed]).toEqual([false, false])
    idle.destroy()
    busy.destroy()
  })

  it("is left later each time: a server that is only slow collects few; those that are left at once count once", async () => {
    const open = socketsOf()
    await Promise.all([open(), open(), open()].map(closed))
    const tookMs = await closed(open())
    expect(tookMs).toBeGreaterThanOrEqual(2 * silenceMs)
    expect(tookMs).toBeLessThan(4 * silenceMs)
  })

  it("stays while it connects, for which there is a deadline of its own", async () => {
    const socket = socketsOf()()
    socket.write("question")
    await sleep(3 * silenceMs)
    expect(socket.destroyed).toBe(false)
    socket.destroy()
  })

  it("goes where the parameters of the address say; one of this machine is not watched", async () => {
    const open = serverSockets(
      Redacted.make(`postgres://me@nowhere.invalid:1/db?host=127.0.0.1&port=${portOf(server)}`),
      silenceMs,
    )
    const socket = open?.()
    socket?.write("answer")
    expect(String(...(await once(socket ?? server, "data")))).toBe("ok")
    socket?.destroy()
    expect(
      serverSockets(Redacted.make("postgres://me@localhost/db?host=/var/run/postgresql"), silenceMs),
    ).toBeUndefined()
    expect(serverSockets(Redacted.make("no address"), silenceMs)).toBeUndefined()
    expect(serverSockets(Redacted.make("postgres://me@%2Frun%2Fpostgresql/db"), silenceMs)).toBeUndefined()
  })
})
