/** Addresses and networks as operators write them: `203.0.113.7`, `10.0.0.0/8`, `::1`. */
import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * A network in CIDR notation, or a single address. A network of IPv4-mapped IPv6 addresses becomes IPv4, like the addresses
 * that are compared with it.
 */
export const parseNetwork = (text: string): IpNetwork.IpNetwork | undefined => {
  const network = text.includes("/") ? Result.getSuccess(IpNetwork.fromString(text)) : networkOf(parseAddress(text))
  return Option.getOrUndefined(Option.map(network, unmapped))
}

const networkOf = (address: NetAddress.IpAddress | undefined): Option.Option<IpNetwork.IpNetwork> =>
  address === undefined ? Option.none() : Result.getSuccess(IpNetwork.make(address, NetAddress.width(address)))

/** The bits of an IPv6 address before the IPv4 address that it maps. RFC 4291 section 2.5.5.2. */
const mappedBits = 96

const unmapped = (network: IpNetwork.IpNetwork): IpNetwork.IpNetwork => {
  if (!IpNetwork.isIpv6Network(network) || network.prefixLength < mappedBits) return network
  return NetAddress.fromIpv4Mapped(network.address).pipe(
    Option.flatMap((address) => Result.getSuccess(IpNetwork.make(address, network.prefixLength - mappedBits))),
    Option.getOrElse((): IpNetwork.IpNetwork => network),
  )
}

/** Parses an address; an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) becomes IPv4. */
export const parseAddress = (text: string): NetAddress.IpAddress | undefined => {
  const parsed = NetAddress.ipFromString(text)
  if (Result.isFailure(parsed)) return undefined
  const address = parsed.success
  return NetAddress.isIpv6Address(address)
    ? Option.getOrElse(NetAddress.fromIpv4Mapped(address), (): NetAddress.IpAddress => address)
    : address
}
