/** The caller of a runtime route, independent of its kind of credential. */

import type { Subjects } from "../money/budget.ts"
import type { AppEntry, OrgEntry } from "../tenants/tenants.ts"

export interface Caller extends OrgEntry {
  /** The id to which usage is attributed: an application key, a device key or a personal access token. */
  readonly keyId: string
  /** Absent if a person calls with a device key or a token. */
  readonly app: AppEntry["app"] | undefined
  /** What its organisation has configured for the application. */
  readonly config?: AppEntry["config"]
  /** The application's end user, if the caller has an end-user token. */
  readonly endUserId: string | undefined
  /** The member behind a device key or a personal access token. */
  readonly person?: { readonly id: string; readonly teams: ReadonlyArray<string> } | undefined
  /** Present if the request was signed; the gate refuses a nonce that it has seen. */
  readonly nonce: string | undefined
}

/** Who calls, by ids alone. */
export interface CallerIds extends Pick<Caller, "keyId" | "endUserId" | "person"> {
  readonly app: { readonly id: string } | undefined
}

/** Whose budgets cover the caller. */
export const budgetSubjects = ({ org, app, keyId, person, endUserId }: Caller): Subjects => ({
  org: [org.id],
  team: person?.teams ?? [],
  person: person === undefined ? [] : [person.id],
  app: app === undefined ? [] : [app.id],
  key: [keyId],
  endUser: endUserId === undefined ? [] : [endUserId],
})

/**
 * The owner of the caller's sessions: the key, or the end user of the key. Ids of keys may have slashes, and an application
 * chooses its users' ids: no user of one key is another key, or a user of it.
 */
export const sessionOwner = ({ keyId, endUserId }: Pick<Caller, "keyId" | "endUserId">): string => {
  const key = keyId.replaceAll("/", "%2F")
  return endUserId === undefined ? key : `${key}/${endUserId}`
}
