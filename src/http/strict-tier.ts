/** The strict tier of the routes where people log in: so many calls a minute from one address. Source: interface.md "Errors". */
import { Effect } from "effect"
import { IpNetwork, NetAddress } from "effect/net"
import { Gate } from "../admission/gate.ts"
import { WeirConfig } from "../config.ts"
import type { Request } from "./operator.ts"
import { makeCallerAddress } from "./request.ts"

const windowMs = 60_000

export const makeStrictTier = Effect.gen(function* () {
  const gate = yield* Gate
  const { authPerMinute, trustedProxies } = yield* WeirConfig
  const callerAddress = makeCallerAddress(trustedProxies)
  return (request: Request) => {
    const address = callerAddress(request)
    const bucket = `address:${address === undefined ? "unknown" : neighbourhood(address)}`
    const rates = [{ bucket, limit: authPerMinute, windowMs }]
    return Effect.asVoid(gate.admit({ owner: "login", keyId: bucket, rates }))
  }
})

/** An address of IPv4; of IPv6 its /64, all of which one person has. */
const neighbourhood = (address: NetAddress.IpAddress): string =>
  String(NetAddress.isIpv6Address(address) ? IpNetwork.fromAddressUnsafe(address, 64) : address)
