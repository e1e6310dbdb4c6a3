/**
 * Sockets to a server of PostgreSQL that are left when it does not answer. A host that vanished, or a gateway of the network
 * that has dropped a connection, sends nothing, and TCP gives up after a quarter of an hour: until then every statement would
 * be sent behind the first that got no answer, because they are pipelined.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net"
import { Redacted } from "effect"

/**
 * @param silenceMs the time in which a server must answer, at first
 * @returns a function that opens a socket; undefined if the server is on this machine, which reports the server's end
 */
export const serverSockets = (url: Redacted.Redacted, silenceMs: number): (() => Socket) | undefined => {
  const address = addressOf(Redacted.value(url))
  if (address === undefined) return undefined
  const patience = new Patience(silenceMs)
  return () => {
    const socket = connect({ ...address, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs })
    watch(socket, patience)
    return socket
  }
}

/** The idle time before keepalive finds out about a server that is not asked. It takes ten seconds more. */
export const keepAliveMs = 10_000

/** The address, read like `@effect/sql-pg` does, which also reports its errors: parameters go before the authority. */
const addressOf = (url: string): NetConnectOpts | undefined => {
  if (!URL.canParse(url)) return undefined
  const { hostname, port, searchParams } = new URL(url)
  const host = searchParams.get("host") ?? hostname.replace(/^\[|\]$/g, "")
  // A path, percent-encoded in the authority.
  if (/[/%]/.test(host)) return undefined
  return {
    host: host === "" ? "localhost" : host,
    port: Number(searchParams.get("port") ?? (port === "" ? 5432 : port)),
  }
}

/**
 * The time that a server may be silent: longer each time that a socket was left. A server that is only slow still works
 * for sockets that were left, so it would collect connections.
 */
class Patience {
  /** The time at first. */
  readonly silenceMs: number
  #ms: number
  #leftAtMs = Number.NEGATIVE_INFINITY

  constructor(silenceMs: number) {
    this.silenceMs = silenceMs
    this.#ms = silenceMs
  }

  msAt(nowMs: number): number {
    return nowMs - this.#leftAtMs > calmMs ? this.silenceMs : this.#ms
  }

  /** Records that a socket was left; sockets that are left at the same time count once. */
  left(nowMs: number): void {
    const ms = this.msAt(nowMs)
    if (nowMs - this.#leftAtMs >= this.silenceMs) this.#ms = Math.min(2 * ms, mostTimes * this.silenceMs)
    this.#leftAtMs = nowMs
  }
}

/** The time after which a silence counts as the first one again. */
const calmMs = 600_000
const mostTimes = 8

/**
 * Watches that a server answers. Bytes that were written after its last answer need an answer; bytes that were written
 * while it came are noticed with the next write. Until the first answer, a connection has a deadline of its own.
 */
const watch = (socket: Socket, patience: Patience): void => {
  let read = 0
  let written = 0
  let leftAtMs: number | undefined
  const look = () => {
    const nowMs = performance.now()
    if (socket.bytesRead !== read) {
      read = socket.bytesRead
      written = socket.bytesWritten
      leftAtMs = undefined
      return
    }
    if (read === 0 || socket.bytesWritten === written) return
    leftAtMs ??= nowMs + patience.msAt(nowMs)
    if (nowMs < leftAtMs) return
    patience.left(nowMs)
    socket.destroy(new Error("The server has not answered"))
  }
  const timer = setInterval(look, patience.silenceMs / 5).unref()
  socket.on("close", () => clearInterval(timer))
}
