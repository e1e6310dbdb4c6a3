/** The owner of sessions with servers, and of accounts at them. */
import type { SessionClient } from "./negotiate.ts"

export interface SessionOwner {
  /** The owner's name: sessions are shared by nobody else. Empty for the gateway's own lists. */
  readonly name: string
  readonly client: SessionClient
  /** Its organisation. */
  readonly org: string
  /** The person, if one calls. */
  readonly person: string | undefined
}
