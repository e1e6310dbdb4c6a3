import { createServer, type Server } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { limitConnections } from "../../../src/http/connection-limit.ts"
import { beforeRequest } from "../../../src/http/listener.ts"
import { interceptRequests } from "../../../src/http/request-interceptor.ts"
import { portOf } from "../../../src/testing/port.ts"

const servers: Array<Server> = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** A server of limited connections that answers after some time. */
const serve = async (most: number): Promise<number> => {
  const server = createServer((_, response) => setTimeout(() => response.end("ok"), 100))
  servers.push(server)
  beforeRequest(server, limitConnections(server, most).request)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return portOf(server)
}

const request = "GET / HTTP/1.1\r\nhost: x\r\n\r\n"

/** Connects, and returns how the connection ends: with an answer or without. */
const open = (port: number, { silent = false } = {}): { readonly socket: Socket; readonly ended: Promise<string> } => {
  const socket = connect(port, "127.0.0.1", () => {
    if (!silent) socket.write(request)
  })
  const ended = new Promise<string>((resolve) => {
    socket.on("data", () => resolve("answered"))
    socket.on("error", () => resolve("closed"))
    socket.on("close", () => resolve("closed"))
  })
  return { socket, ended }
}

describe("limitConnections", () => {
  it("serves as many new connections as fit, and closes the others", async () => {
    const port = await serve(8)
    const ends = await Promise.all(Array.from({ length: 40 }, () => open(port).ended))
    expect(ends.filter((end) => end === "answered")).toHaveLength(8)
  })

  it("closes connections that were answered and wait, the longest waiting first", async () => {
    const port = await serve(4)
    const first = open(port)
    expect(await first.ended).toBe("answered")
    const closed = new Promise((resolve) => first.socket.once("close", resolve))
    const later = Array.from({ length: 3 }, () => open(port))
    expect(await Promise.all(later.map(({ ended }) => ended))).toEqual(["answered", "answered", "answered"])
    await closed
  })

  it("has room for a new connection once it has answered as many as it may have", async () => {
    const port = await serve(4)
    const ends = await Promise.all(Array.from({ length: 4 }, () => open(port).ended))
    expect(ends).toEqual(["answered", "answered", "answered", "answered"])
    await sleep(50)
    expect(await open(port).ended).toBe("answered")
  })

  it("never closes a connection whose request is answered, whoever answers it", async () => {
    const server = createServer()
    servers.push(server)
    const { request: limitRequest } = limitConnections(server, 4)
    const slowly = interceptRequests(server, () => (_, response) => {
      setTimeout(() => response.end("ok"), 1500)
    })
    const scope = Scope.makeUnsafe()
    await Effect.runPromise(Scope.provide(slowly, scope))
    beforeRequest(server, limitRequest)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const first = Array.from({ length: 3 }, () => open(portOf(server)))
    // The others come when these could be taken for silent ones.
    await sleep(1100)
    for (let at = 0; at < 4; at++) open(portOf(server), { silent: true })
    expect(await Promise.all(first.map(({ ended }) => ended))).toEqual(["answered", "answered", "answered"])
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it("closes connections that stay silent, when others need their place", async () => {
    const port = await serve(4)
    const silent = Array.from({ length: 4 }, () => open(port, { silent: true }))
    await sleep(1100)
    expect(await open(port).ended).toBe("closed")
    const ends: Array<string> = []
    for (let i = 0; i < 3; i++) ends.push(await open(port).ended)
    expect(ends).toContain("answered")
    for (const { socket } of silent) socket.destroy()
  })
})
