/** How calls to a vendor carry an identity that is no API key: a signature, or a token that is renewed. */

import type { VendorClient } from "./client.ts"
import type { Network } from "./network.ts"

export interface OutgoingRequest {
  readonly baseUrl: string
  readonly path: string
  readonly body: string
}

/** How a service that issues tokens is reached: as the vendor itself is. */
export interface Route {
  readonly client: VendorClient["Service"]
  readonly network: Network | undefined
}

export interface Identity {
  /** The headers that carry it; rejected if there is none now. */
  readonly authorize: (request: OutgoingRequest, route: Route) => Promise<Readonly<Record<string, string>>>
}
