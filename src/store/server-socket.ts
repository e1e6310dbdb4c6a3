/**
 * Sockets to a server of PostgreSQL that are left when it does not answer. A host that vanished, or a gateway of the network
 * that has forgotten a connection, says nothing, and TCP gives up after a quarter of an hour: until then every statement
 * would be sent behind the first that got no answer, because they are pipelined.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net"
import { Redacted } from "effect"

/**
 * @param silenceMs how long a server may owe an answer, at first
 * @returns opens a socket; undefined where the server is on this machine, which tells of its end
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

/** Of a server that is not asked, keepalive finds out: this, and ten seconds. */
export const keepAliveMs = 10_000

/** As `@effect/sql-pg` reads it, which also tells what is wrong with it: parameters go before the authority. */
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
 * How long a server may be silent: longer each time that a socket was left. A server that is only slow works on at what
 * nobody waits for, so it would collect connections.
 */
class Patience {
  /** At first. */
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

  /** A socket was left; those that are left with it count once. */
  left(nowMs: number): void {
    const ms = this.msAt(nowMs)
    if (nowMs - this.#leftAtMs >= this.silenceMs) this.#ms = Math.min(2 * ms, mostTimes * this.silenceMs)
    this.#leftAtMs = nowMs
  }
}

/** After so long without another, a silence is like the first. */
const calmMs = 600_000
const mostTimes = 8

/**
 * What was written after the last answer is owed one; what was written as it came is found when more is. Until the first
 * answer, a connection has a deadline of its own.
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
