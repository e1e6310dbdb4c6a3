/** An identity in calls to a vendor that is no API key: a signature, or a token that is renewed. */
import { Data } from "effect"
import type { VendorClient } from "../upstream/client.ts"
import type { Network } from "../upstream/network.ts"

export interface OutgoingRequest {
  /** POST if absent. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE"
  readonly baseUrl: string
  readonly path: string
  readonly body: string
  /** Others that are signed too; JSON is sent if there are none. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The way to a service that issues tokens: the same as to the vendor itself. */
export interface Route {
  readonly client: VendorClient["Service"]
  readonly network: Network | undefined
  /** Whether a user chose its address: then it passes the egress guard. */
  readonly isGuarded: boolean
}

export interface Identity {
  /** The headers that carry it; rejected with {@link IdentityFailed} if there is none now. */
  readonly authorize: (request: OutgoingRequest, route: Route) => Promise<Readonly<Record<string, string>>>
  /** Its problem, in a sentence; undefined if it works, or was not needed yet. */
  readonly problem: () => string | undefined
}

/** There is no identity now. The sentence is for operators, and contains no secret. */
export class IdentityFailed extends Data.TaggedError("IdentityFailed")<{ readonly sentence: string }> {}
