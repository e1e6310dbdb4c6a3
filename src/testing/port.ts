/** Where a server of a test listens. */
import type { AddressInfo } from "node:net"

/** The port of a server that listens; 0 where it does not. */
export const portOf = (server: { readonly address: () => AddressInfo | string | null }): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
