/** The port of a test's server. */
import type { AddressInfo } from "node:net"

/** The port of a listening server; 0 if it does not listen. */
export const portOf = (server: { readonly address: () => AddressInfo | string | null }): number => {
  const address = server.address()
  if (typeof address !== "object" || address === null) throw new Error("the server does not listen on a port")
  return address.port
}
