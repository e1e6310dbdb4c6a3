/** Servers of tools of a catalogue, ready for use. */
import { Redacted } from "effect"
import type { ToolServer } from "../protocol/catalogue/tool-server.ts"
import { isReference } from "../upstream/network.ts"
import { readToolPrice, type ToolPrices } from "./tool-price.ts"

export interface DeclaredServer<Target> {
  readonly server: ToolServer
  /** Its own address first, then those that are equal to it. */
  readonly targets: ReadonlyArray<Target>
  /** The headers of each request; undefined for one whose secret is not set. */
  readonly headers: Readonly<Record<string, string>>
  /** The environment of its process. */
  readonly environment: Readonly<Record<string, string>>
  /** The secret of the client that the gateway is at its authorisation server. */
  readonly clientSecret: Redacted.Redacted | undefined
  /** Names of headers and variables whose secret is not set. */
  readonly missing: ReadonlyArray<string>
  /** The price of a tool by the server's own name of it; undefined if it is free. */
  readonly priceOf: (tool: string) => ToolPrices | undefined
}

/** @param resolve the secret at a reference */
export const readServer = <Target>(
  server: ToolServer,
  targets: ReadonlyArray<Target>,
  resolve: (ref: string) => string | undefined,
): DeclaredServer<Target> => {
  const missing: Array<string> = []
  const resolved = (texts: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      Object.entries(texts).flatMap(([name, text]) => {
        const value = isReference(text) ? resolve(text) : text
        if (value === undefined) missing.push(name)
        return value === undefined ? [] : [[name, value]]
      }),
    )
  const prices = new Map(Object.entries(server.tools?.price ?? {}).map(([tool, price]) => [tool, readToolPrice(price)]))
  const secretRef = server.oauth?.clientSecret
  const clientSecret = secretRef === undefined ? undefined : resolve(secretRef)
  if (secretRef !== undefined && clientSecret === undefined) missing.push("clientSecret")
  const usual = readToolPrice(server.price)
  return {
    server,
    targets,
    headers: resolved(server.headers),
    environment: resolved(server.command?.environment),
    clientSecret: clientSecret === undefined ? undefined : Redacted.make(clientSecret),
    missing,
    priceOf: (tool) => (prices.has(tool) ? prices.get(tool) : usual),
  }
}
