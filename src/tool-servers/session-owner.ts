/** The owner of sessions with servers, and of accounts at them. */
import { type Caller, sessionOwner } from "../identity/caller.ts"
import { gatewayItself, type SessionClient } from "./negotiate.ts"

export interface SessionOwner {
  /** The owner's name: sessions are shared by nobody else. Empty for the gateway's own lists. */
  readonly name: string
  readonly client: SessionClient
  /** Its organisation. */
  readonly org: string
  /** The person, if one calls. */
  readonly person: string | undefined
}

/** The owner of all calls of a caller that have no session: the organisation, the key and the end user. */
export const callerAsOwner = (caller: Caller): SessionOwner => ({
  name: `${caller.org.id}/${sessionOwner(caller)}`,
  client: gatewayItself,
  org: caller.org.id,
  person: caller.person?.id,
})
