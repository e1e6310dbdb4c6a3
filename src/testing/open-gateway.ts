/** The test gateway for other projects: as an effect with a scope, or as a promise with `close`. */
import { Effect, Exit, Scope } from "effect"
import { formatAmount } from "../money/amount.ts"
import { type GatewayOptions, startGateway as startWhole } from "./gateway.ts"
import type { TestGateway } from "./test-gateway.ts"

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
