/** A line between a gateway and a store that can be cut, or fall silent. */
import { connect, createServer, type Socket } from "node:net"
import { portOf } from "../../../src/testing/port.ts"

export interface Line {
  readonly port: number
  /** Cuts every open connection. */
  readonly cut: () => void
  /** Blocks all traffic for a while, without closing connections. */
  readonly stall: (ms: number) => void
  readonly close: () => void
}

export const openLine = (target: number): Promise<Line> =>
  new Promise((resolve) => {
    const pairs = new Set<readonly [Socket, Socket]>()
    /** The stall of each pair that is silent: a second one takes the place of the first, or bytes would come twice. */
    const stalls = new WeakMap<readonly [Socket, Socket], NodeJS.Timeout>()
    const server = createServer((near) => {
      const far = connect(target, "127.0.0.1")
      const pair = [near, far] as const
      pairs.add(pair)
      const end = () => {
        pairs.delete(pair)
        near.destroy()
        far.destroy()
      }
      for (const socket of pair) socket.on("error", end).on("close", end)
      near.pipe(far)
      far.pipe(near)
    })
    server.listen(0, "127.0.0.1", () => {
      const each = (act: (socket: Socket) => void) => {
        for (const pair of pairs) for (const socket of pair) act(socket)
      }
      resolve({
        port: portOf(server),
        cut: () => each((socket) => socket.destroy()),
        stall: (ms) => {
          for (const pair of pairs) {
            const [near, far] = pair
            clearTimeout(stalls.get(pair))
            near.unpipe(far).pause()
            far.unpipe(near).pause()
            const heal = () => {
              near.pipe(far)
              far.pipe(near)
            }
            stalls.set(pair, setTimeout(heal, ms))
          }
        },
        close: () => {
          each((socket) => socket.destroy())
          server.close()
        },
      })
    })
  })
