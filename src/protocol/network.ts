/** Addresses and networks as operators write them: `203.0.113.7`, `10.0.0.0/8`, `::1`. */
import { Option, Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/** A network in CIDR notation, or a single address. */
export const parseNetwork = (text: string): IpNetwork.IpNetwork | undefined => {
  if (text.includes("/")) return Option.getOrUndefined(Result.getSuccess(IpNetwork.fromString(text)))
  const address = NetAddress.ipFromString(text)
  if (Result.isFailure(address)) return undefined
  return Option.getOrUndefined(Result.getSuccess(IpNetwork.make(address.success, NetAddress.width(address.success))))
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
