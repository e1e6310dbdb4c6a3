/** A Redis of a test's own, and a line to it whose far end can be moved. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { connect, createServer, type Socket } from "node:net"
import { portOf } from "../../src/testing/port.ts"
import { freePort } from "../support/free-port.ts"
import { eventually } from "../support/gateway.ts"

export const hasRedisServer =
  spawnSync("redis-server", ["--version"]).status === 0 && spawnSync("redis-cli", ["--version"]).status === 0

export interface RedisServer {
  readonly port: number
  readonly process: ChildProcess
  readonly cli: (...args: ReadonlyArray<string>) => string
  /** A section of its report on itself; empty while it breaks its connections off, as it does when its role changes. */
  readonly info: (section: string) => string
  readonly stop: () => void
}

/** @param options of its command line, beside its address and that it keeps nothing */
export const startRedisServer = async (...options: ReadonlyArray<string>): Promise<RedisServer> => {
  const port = await freePort()
  const own = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
  const process = spawn("redis-server", [...own, ...options], { stdio: "ignore" })
  await eventually(() => /PONG|NOAUTH/.test(String(spawnSync("redis-cli", ["-p", String(port), "ping"]).stdout)))
  return {
    port,
    process,
    cli: (...args) => execFileSync("redis-cli", ["-p", String(port), ...args], { encoding: "utf8" }),
    info: (section) => String(spawnSync("redis-cli", ["-p", String(port), "info", section]).stdout),
    stop: () => process.kill("SIGKILL"),
  }
}

/** An address as a service has it: connections stay where they are, and new ones go to where it points. */
export const movableAddress = async (
  target: number,
): Promise<{ readonly port: number; readonly pointTo: (target: number) => void; readonly close: () => void }> => {
  let current = target
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(current, "127.0.0.1")
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.on("error", () => other.destroy())
      socket.on("close", () => {
        open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: portOf(server),
    pointTo: (port) => {
      current = port
    },
    close: () => {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}
