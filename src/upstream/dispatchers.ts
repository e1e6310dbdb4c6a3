/**
 * The pools of connections to vendors: one for most addresses, and one for each other way to connect: behind the egress
 * guard, through a vendor's own proxy, with its own certificates.
 */
import { Effect } from "effect"
import { Agent, type Dispatcher } from "undici"
import { type ConnectorOptions, makeConnector, makeEnvironmentProxy } from "./connector.ts"
import { Egress } from "./egress.ts"
import type { Network } from "./network.ts"

/**
 * Makes the pools, until the scope closes.
 *
 * @returns the pool for an address
 */
export const makeDispatchers = Effect.gen(function* () {
  const wayTo = yield* makeWays
  const pools = new Map<string, Agent>()
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all([...pools.values()].map((one) => one.destroy()))))

  const poolFor = (key: string, options: () => ConnectorOptions): Agent => {
    const known = pools.get(key)
    if (known !== undefined) return known
    const pool = makePool(options())
    pools.set(key, pool)
    const [oldest] = pools
    if (pools.size > mostPools && oldest !== undefined) {
      pools.delete(oldest[0])
      // A closed pool still serves its running calls.
      oldest[1].close().catch(() => {})
    }
    return pool
  }
  const usual = yield* Effect.acquireRelease(
    Effect.sync(() => makePool(wayTo(false, undefined))),
    (pool) => Effect.promise(() => pool.destroy()),
  )

  return (isGuarded: boolean, network: Network | undefined): Dispatcher => {
    if (!isGuarded && network === undefined) return usual
    return poolFor(`${isGuarded} ${network?.key}`, () => wayTo(isGuarded, network))
  }
})

/**
 * The way to make connections to an address. The certificates of a vendor are not for an address that a user chose
 * (`isGuarded`).
 */
export const makeWays = Effect.gen(function* () {
  const guard = yield* Egress
  const environment = yield* makeEnvironmentProxy
  return (isGuarded: boolean, network: Network | undefined): ConnectorOptions => ({
    proxyFor: network?.proxy === undefined ? environment : () => (network.proxy === "none" ? undefined : network.proxy),
    tls: isGuarded ? undefined : network?.tls,
    guard: isGuarded ? guard : undefined,
  })
})

/** The exchange's timeout tiers apply; undici's own timeouts are off. */
const makePool = (options: ConnectorOptions): Agent =>
  new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: makeConnector(options), pipelining: 1 })

/** There are more than a few only if certificates change often. */
const mostPools = 200
