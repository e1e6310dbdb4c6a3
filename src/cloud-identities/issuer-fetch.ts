/**
 * `fetch` for the libraries of the clouds: their requests for tokens go through the vendor's proxy and with its certificates,
 * and addresses that an organisation chose pass the egress guard. A machine's own services are local: they are called without
 * a proxy.
 */
import { isIP } from "node:net"
import { Effect } from "effect"
import { fetchWhole } from "../upstream/client.ts"
import type { Network } from "../upstream/network.ts"
import type { Route } from "./identity.ts"

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

const maxReplyBytes = 1024 * 1024

export const fetchBy =
  ({ client, network, isGuarded }: Route): Fetch =>
  async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const method = (init.method ?? "GET").toUpperCase()
    const reply = await Effect.runPromise(
      fetchWhole(
        client,
        {
          method: method === "POST" ? "POST" : "GET",
          baseUrl: url.origin,
          path: `${url.pathname}${url.search}`,
          headers: headersOf(init),
          body: textOf(init.body),
          isGuarded,
          network: isOfMachine(url) && !isGuarded ? direct : network,
        },
        maxReplyBytes,
      ),
    )
    return new Response(reply.body, { status: reply.status, headers: { ...reply.headers } })
  }

/** Compressed replies are not read. */
const headersOf = ({ headers: given, body }: RequestInit): Record<string, string> => {
  const headers = Object.fromEntries(new Headers(given))
  if (body instanceof URLSearchParams) headers["content-type"] ??= "application/x-www-form-urlencoded"
  delete headers["accept-encoding"]
  delete headers["content-length"]
  return headers
}

const textOf = (body: RequestInit["body"]): string => {
  if (body === undefined || body === null) return ""
  if (typeof body === "string") return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8")
  return body instanceof URLSearchParams ? body.toString() : ""
}

const direct: Network = { key: "direct", proxy: "none", tls: {}, problem: undefined }

const metadataHosts: ReadonlySet<string> = new Set(["metadata", "metadata.google.internal", "localhost"])

/** Metadata of instances and containers: plain HTTP at loopback and link-local addresses. */
const isOfMachine = ({ protocol, hostname }: URL): boolean => {
  if (protocol !== "http:") return false
  const host = hostname.replace(/^\[|\]$/g, "")
  if (isIP(host) === 0) return metadataHosts.has(host)
  return /^(127\.|169\.254\.|::1$|fe80:|fd00:ec2:)/.test(host)
}
