/** The test gateway for other projects: as an effect with a scope, or as a promise with `close`. */
import { Effect, Exit, Scope } from "effect"
import { formatAmount } from "../money/amount.ts"
import { type GatewayOptions, startGateway as startWhole } from "./gateway.ts"
import type { ScriptedVendor } from "./scripted-vendor.ts"

/** A gateway on a port of its own, with scripted vendors and one funded application. */
export interface TestGateway {
  readonly baseUrl: string
  /** The vendor of every model of the default catalogue. */
  readonly vendor: ScriptedVendor
  /** A second vendor: the model `pool` fails over to it. */
  readonly second: ScriptedVendor
  /** The application's key pair. */
  readonly keyId: string
  readonly key: string
  readonly adminKey: string
  readonly orgId: string
  /** The organisation's balance in USD, e.g. `1000.00`: what running calls may cost is taken off. */
  readonly balance: () => Promise<string>
  /** Calls a route with the application's key; the given headers override, and `undefined` removes a header. */
  readonly call: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string | undefined>>,
  ) => Promise<Response>
  /** Posts an exchange with the application's key. */
  readonly exchange: (body: unknown, init?: RequestInit) => Promise<Response>
}

/** A gateway that runs until it is closed. */
export interface OpenGateway extends TestGateway, AsyncDisposable {
  /** Stops it; a second call waits for the first. */
  readonly close: () => Promise<void>
}

/** Starts a gateway; it stops when the scope closes. */
export const startGateway = (options?: GatewayOptions): Effect.Effect<TestGateway, unknown, Scope.Scope> =>
  Effect.map(startWhole(options), ({ ledger, orgId, ...gateway }) => {
    const { baseUrl, vendor, second, keyId, key, adminKey, call, exchange } = gateway
    const balance = () => Effect.runPromise(Effect.map(ledger.balance(orgId, "USD"), formatAmount))
    return { baseUrl, vendor, second, keyId, key, adminKey, orgId, balance, call, exchange }
  })

/**
 * Starts a gateway, without Effect.
 *
 * **Example**
 *
 * ```ts
 * let gateway: OpenGateway
 * beforeAll(async () => {
 *   gateway = await openGateway()
 * })
 * afterAll(() => gateway.close())
 * ```
 */
export const openGateway = async (options?: GatewayOptions): Promise<OpenGateway> => {
  const scope = Scope.makeUnsafe()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
    return closing
  }
  try {
    const gateway = await Effect.runPromise(Scope.provide(startGateway(options), scope))
    return { ...gateway, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}
