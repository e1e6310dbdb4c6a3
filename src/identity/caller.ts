/** The caller of a runtime route, independent of its kind of credential. */

import type { Subjects } from "../money/budgets/budget.ts"
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
 * An id as it stands before a separator, behind which clients choose what follows: ids may have `:` and `/` themselves, and
 * nothing that one key's clients send may name what is another key's.
 */
export const beforeSeparator = (id: string, separator: ":" | "/"): string =>
  id.replaceAll(separator, encodeURIComponent(separator))

/** The owner of the caller's sessions: the key, or the end user of the key. */
export const sessionOwner = ({ keyId, endUserId }: Pick<Caller, "keyId" | "endUserId">): string => {
  const key = beforeSeparator(keyId, "/")
  return endUserId === undefined ? key : `${key}/${endUserId}`
}

/** Names an end user among those of all applications. */
export const endUserName = (app: CallerIds["app"], endUserId: string): string =>
  `${beforeSeparator(app?.id ?? "", ":")}:${endUserId}`
