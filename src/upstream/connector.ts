/**
 * Opens connections for the HTTP client: directly, or through a proxy's tunnel; to the address that the egress guard
 * checked if a user chose it.
 */
import { request as requestPlain } from "node:http"
import { request as requestSecure } from "node:https"
import { isIP, type LookupFunction, type Socket } from "node:net"
import { getCACertificates } from "node:tls"
import { Effect, Redacted } from "effect"
import { buildConnector } from "undici"
import { WeirConfig } from "../config.ts"
import { type HttpProxy, makeBypass } from "../protocol/values/proxy.ts"
import type { EgressGuard } from "./egress.ts"
import type { Network } from "./network.ts"

/** The proxy through which an address is reached, if any. */
export type ProxyFor = (address: {
  readonly isSecure: boolean
  readonly hostname: string
  readonly port: number
}) => HttpProxy | undefined

/** `HTTPS_PROXY` and `NO_PROXY`. */
export const makeEnvironmentProxy: Effect.Effect<ProxyFor, never, WeirConfig> = Effect.map(
  WeirConfig,
  ({ httpsProxy, noProxy }) => {
    if (httpsProxy === undefined) return () => undefined
    const bypasses = makeBypass(noProxy)
    return ({ isSecure, hostname, port }) =>
      isSecure && !bypasses(hostname, port) ? Redacted.value(httpsProxy) : undefined
  },
)

export interface ConnectorOptions {
  readonly proxyFor: ProxyFor
  readonly tls?: Network["tls"] | undefined
  /** Present if a user chose the address. */
  readonly guard?: EgressGuard | undefined
}

export const makeConnector = ({ proxyFor, tls, guard }: ConnectorOptions): buildConnector.connector => {
  const lookup: { lookup?: LookupFunction } = guard === undefined ? {} : { lookup: guard.lookup }
  const connect = buildConnector({ timeout: 0, ...lookup, ...secureOptions(tls) })
  return (options, callback) => {
    const isSecure = options.protocol === "https:"
    const hostname = options.hostname.replace(/^\[|\]$/g, "")
    const port = Number(options.port || (isSecure ? 443 : 80))
    const proxy = proxyFor({ isSecure, hostname, port })
    if (proxy === undefined) return connect(options, callback)
    const opened = async (): Promise<Socket> => {
      // A name that a user chose is not resolved again by the proxy.
      const [host = hostname] = guard === undefined ? [hostname] : await guard.resolve(hostname)
      return openTunnel(proxy, `${isIP(host) === 6 ? `[${host}]` : host}:${port}`)
    }
    opened().then(
      (socket) => {
        if (isSecure) connect({ ...options, httpSocket: socket }, callback)
        else callback(null, socket)
      },
      (cause: Error) => callback(cause, null),
    )
  }
}

/** More authorities are in addition to the machine's. */
const secureOptions = (tls: Network["tls"] | undefined) =>
  tls?.ca === undefined ? tls : { ...tls, ca: [...getCACertificates("default"), tls.ca] }

/** The time in which a proxy must open a tunnel: as long as the system tries to open a connection. */
const tunnelPatienceMs = 130_000

/** The proxy refused or broke the tunnel. The error has no code, so that the HTTP client does not retry. */
const tunnelFailed = (message: string, cause?: unknown) => new Error(`The proxy ${message}`, { cause })

/** @param authority host and port of the target */
const openTunnel = ({ isSecure, host, port, authorization }: HttpProxy, authority: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const request = (isSecure ? requestSecure : requestPlain)({
      host,
      port,
      method: "CONNECT",
      path: authority,
      headers: { host: authority, ...(authorization !== undefined && { "proxy-authorization": authorization }) },
      agent: false,
      timeout: tunnelPatienceMs,
    })
    request.once("connect", ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      socket.setTimeout(0)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        reject(tunnelFailed(`answered ${statusCode}`))
        return
      }
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    request.once("response", (response) => {
      response.destroy()
      reject(tunnelFailed(`answered ${response.statusCode}`))
    })
    request.once("timeout", () => request.destroy(new Error("it did not answer in time")))
    request.on("error", (cause) => reject(tunnelFailed("cannot be reached", cause)))
    request.end()
  })
