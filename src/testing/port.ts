/** The port of a test's server. */
import type { AddressInfo } from "node:net"

/** The port of a listening server; 0 if it does not listen. */
export const portOf = (server: { readonly address: () => AddressInfo | string | null }): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
