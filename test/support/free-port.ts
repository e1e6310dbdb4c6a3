/**
 * Ports for servers of tests and scripts, also for those that are stopped and started again. They are below those that
 * the system gives to connections, and a socket for datagrams keeps each from other processes that look for one.
 */
import { createSocket, type Socket } from "node:dgram"
import { createServer } from "node:net"

/** The bus of a node of Redis Cluster has the port ten thousand above. */
const first = 10_000
const count = 10_000
const host = "127.0.0.1"

/** A port of 127.0.0.1 at which nobody listens; nobody else is given it as long as this process lives. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = first + Math.floor(Math.random() * count)
    const reserved = await reserve(port)
    if (reserved === undefined) continue
    if (await isFree(port)) return port
    reserved.close()
  }
}

/** @returns what keeps it; undefined if another has it */
const reserve = (port: number): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.once("error", () => {
      socket.close()
      resolve(undefined)
    })
    // It must not keep the process alive.
    socket.bind({ port, address: host, exclusive: true }, () => resolve(socket.unref()))
  })

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
