/**
 * Proxies for outgoing HTTPS, as `HTTPS_PROXY` and `NO_PROXY` name them. Source: the conventions of curl and Go
 * (https://pkg.go.dev/golang.org/x/net/http/httpproxy); RFC 9110 section 9.3.6 for the tunnel.
 */
import { IpNetwork } from "effect/net"
import { parseAddress, parseNetwork } from "./network.ts"

/** A proxy that opens tunnels with CONNECT. */
export interface HttpProxy {
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  /** Value of `Proxy-Authorization`, from the user and password of its URL. */
  readonly authorization: string | undefined
}

/** `http://[user:password@]host[:port]` or https; without a scheme, http. Undefined if it has another form. */
export const parseProxy = (text: string): HttpProxy | undefined => {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "") return undefined
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return undefined
  const isSecure = url.protocol === "https:"
  const user = decode(url.username)
  const password = decode(url.password)
  if (user === undefined || password === undefined) return undefined
  return {
    isSecure,
    host: bare(url.hostname),
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    authorization:
      user === "" && password === ""
        ? undefined
        : `Basic ${Buffer.from(`${user}:${password}`, "utf8").toString("base64")}`,
  }
}

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** IPv6 addresses in URLs have brackets. */
const bare = (host: string): string => host.replace(/^\[|\]$/g, "")

/**
 * Whether `NO_PROXY` excludes an address: names with their subdomains, `host:port`, addresses, networks (CIDR), or `*`
 * for all. Loopback addresses are always excluded.
 */
export const makeBypass = (noProxy: string): ((hostname: string, port: number) => boolean) => {
  const rules = noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map(ruleOf)
  return (hostname, port) => {
    const host = bare(hostname).toLowerCase().replace(/\.$/, "")
    return host === "localhost" || isLoopback(host) || rules.some((excludes) => excludes(host, port))
  }
}

type Rule = (host: string, port: number) => boolean

const ruleOf = (entry: string): Rule => {
  if (entry === "*") return () => true
  const network = parseNetwork(entry.replace(/^\[(.*)\]$/, "$1"))
  if (network !== undefined) {
    return (host) => {
      const address = parseAddress(host)
      return address !== undefined && IpNetwork.contains(network, address)
    }
  }
  const [, name = "", port] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
  const domain = bare(name).replace(/^\*?\./, "")
  return (host, at) =>
    domain !== "" && (host === domain || host.endsWith(`.${domain}`)) && (port === undefined || Number(port) === at)
}

const loopback = ["127.0.0.0/8", "::1/128"].flatMap((text) => parseNetwork(text) ?? [])

const isLoopback = (host: string): boolean => {
  const address = parseAddress(host)
  return address !== undefined && loopback.some((network) => IpNetwork.contains(network, address))
}
