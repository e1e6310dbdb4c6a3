/** The parts of a test gateway that other projects use. */
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
