/**
 * The egress guard for requests to addresses that a user chose. HTTPS only; every address of a host name must be
 * public; the connection uses the address that was checked, because the check is the connection's own lookup. Source:
 * IANA's special-purpose address registries (RFC 6890).
 */
import { lookup as systemLookup } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"
import { Context, Data, Effect, Layer, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { parseAddress, parseNetwork } from "../protocol/values/network.ts"

export type EgressReason = "url" | "not_https" | "credentials" | "address" | "unresolved"

/** The target is not allowed. */
export class EgressBlocked extends Data.TaggedError("EgressBlocked")<{ readonly reason: EgressReason }> {}

/** Resolves all addresses of a host name. A Context.Reference, so that tests can replace it. */
export const ResolveHost = Context.Reference<(host: string) => Promise<ReadonlyArray<string>>>(
  "weir/upstream/ResolveHost",
  {
    defaultValue: () => async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address),
  },
)

export interface EgressGuard {
  /** Checks the form of a URL, and its address if it contains one. */
  readonly check: (url: string) => Result.Result<URL, EgressBlocked>
  /** Resolves a host name to its addresses, all of which must be allowed; rejects otherwise. */
  readonly resolve: (host: string) => Promise<ReadonlyArray<string>>
  /** The same as a lookup function for Node's connections. */
  readonly lookup: LookupFunction
}

export class Egress extends Context.Service<Egress, EgressGuard>()("weir/upstream/Egress") {
  static readonly layer = Layer.effect(
    Egress,
    Effect.gen(function* () {
      const { egressAllow } = yield* WeirConfig
      return makeEgressGuard(networks(...egressAllow), yield* ResolveHost)
    }),
  )
}

/** @param allowed private networks that an operator allows */
export const makeEgressGuard = (
  allowed: ReadonlyArray<IpNetwork.IpNetwork>,
  resolveHost: (host: string) => Promise<ReadonlyArray<string>>,
): EgressGuard => {
  const mayCall = (text: string): boolean => {
    const address = parseAddress(text)
    return address !== undefined && (isPublic(address) || isIn(allowed, address))
  }

  const resolve = async (host: string): Promise<ReadonlyArray<string>> => {
    const addresses = isIP(host) === 0 ? await resolveHost(host) : [host]
    // One private address is enough to block: a host name that resolves to both kinds is suspicious.
    if (!addresses.every(mayCall)) throw new EgressBlocked({ reason: "address" })
    if (addresses.length === 0) throw new EgressBlocked({ reason: "unresolved" })
    return addresses
  }

  return {
    resolve,
    check: (text) => {
      const url = URL.parse(text)
      if (url === null) return blocked("url")
      if (url.protocol !== "https:") return blocked("not_https")
      if (url.username !== "" || url.password !== "") return blocked("credentials")
      if (url.search !== "" || url.hash !== "") return blocked("url")
      const host = url.hostname.replace(/^\[|\]$/g, "")
      return isIP(host) === 0 || mayCall(host) ? Result.succeed(url) : blocked("address")
    },
    lookup: (host, options, callback) => {
      resolve(host).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }))
          const [first] = found
          if (options.all === true) callback(null, found)
          else if (first !== undefined) callback(null, first.address, first.family)
        },
        (cause: Error) => callback(cause, ""),
      )
    },
  }
}

const blocked = (reason: EgressReason) => Result.fail(new EgressBlocked({ reason }))

const isIn = (networks: ReadonlyArray<IpNetwork.IpNetwork>, address: NetAddress.IpAddress): boolean =>
  networks.some((network) => IpNetwork.contains(network, address))

const networks = (...texts: ReadonlyArray<string>): ReadonlyArray<IpNetwork.IpNetwork> =>
  texts.flatMap((text) => parseNetwork(text) ?? [])

/** IPv4 networks that are private, special or unassigned. */
const closedV4 = networks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
)

/** The public part of IPv6; loopback, private, mapped and NAT64 addresses are outside it. */
const openV6 = networks("2000::/3")
/** Special networks inside it: Teredo, ORCHID, documentation, 6to4 and others that carry IPv4 or are not routed. */
const closedV6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")

const isPublic = (address: NetAddress.IpAddress): boolean =>
  NetAddress.isIpv6Address(address)
    ? isIn(openV6, address) && !isIn(closedV6, address) && !carriesIpv4(address)
    : !isIn(closedV4, address)

/** ISATAP embeds IPv4 behind `…:0:5efe` or `…:200:5efe` of any network (RFC 5214). */
const carriesIpv4 = (address: NetAddress.Ipv6Address): boolean =>
  /(::|:0:|:200:)5efe:[0-9a-f]+:[0-9a-f]+$/.test(NetAddress.formatIp(address))

/** Checks an address that a user chose, with all addresses that its name has now. */
export const checkTarget = (egress: EgressGuard, url: string): Effect.Effect<void, ServiceError<"egress_blocked">> =>
  Effect.fromResult(egress.check(url)).pipe(
    Effect.flatMap(({ hostname }) =>
      Effect.tryPromise({
        try: () => egress.resolve(hostname.replace(/^\[|\]$/g, "")),
        catch: (cause) => (cause instanceof EgressBlocked ? cause : new EgressBlocked({ reason: "unresolved" })),
      }),
    ),
    Effect.mapError(({ reason }) => egressBlocked(reason, "The address")),
    Effect.asVoid,
  )

const faults: Readonly<Record<EgressReason, string>> = {
  url: "it is no address without a query",
  not_https: "it is not HTTPS",
  credentials: "it has a name or a password",
  address: "it is private or special",
  unresolved: "its host is not found",
}

/** The error for an address that the egress guard blocks. */
export const egressBlocked = (
  reason: EgressReason,
  address = "The organisation's own upstream address",
): ServiceError<"egress_blocked"> =>
  serviceError("egress_blocked", `${address} is not allowed: ${faults[reason]}`, { detail: { reason } })
