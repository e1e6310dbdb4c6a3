/** The caller of a runtime route, independent of its kind of credential. */

import type { Subjects } from "../money/budgets/budget.ts"
import type { HoldFacts } from "../money/settlement.ts"
import type { Tags } from "../protocol/values/tags.ts"
import type { LimitedSubject } from "../tenants/subject-limits.ts"
import type { AppEntry, OrgEntry } from "../tenants/tenants.ts"

export interface Caller extends OrgEntry {
  /** The id to which usage is attributed: an application key, a device key or a personal access token. */
  readonly keyId: string
  /** Absent if a person calls with a device key or a token. */
  readonly app: AppEntry["app"] | undefined
  /** The configuration of the application by its organisation. */
  readonly config?: AppEntry["config"]
  /** The application's end user, if the caller has an end-user token. */
  readonly endUserId: string | undefined
  /** The subjects with models or rates of their own; absent if there is none. */
  readonly limits?: ReadonlyArray<LimitedSubject> | undefined
  /** The tags of its call; absent if there are none. */
  readonly tags?: Tags | undefined
  /** The member behind a device key or a personal access token. */
  readonly person?: { readonly id: string; readonly teams: ReadonlyArray<string> } | undefined
  /** The batch that its call belongs to. */
  readonly batch?: BatchMoney | undefined
}

/** The batch whose request a call is: its money is held by the batch. */
export interface BatchMoney extends Pick<HoldFacts, "day" | "budgets"> {
  readonly id: string
  /** The time whose prices it has: a price that comes into force later was not held. */
  readonly pricedAtMs: number
  /** The reply that its vendor's own batch has given to the request; the vendor is asked if absent. */
  readonly given?: GivenReply | undefined
}

/** A reply that a vendor gave before. */
export interface GivenReply {
  /** The key of the target when its vendor was asked; its organisation's own key may have come or gone since. */
  readonly target: string
  readonly vendor: string
  readonly targetModel: string
  /** Whether the organisation's own key was used: then its vendor bills it. */
  readonly isOwn: boolean
  readonly status: number
  readonly body: string
}

/** The caller of a request of a batch. */
export const inBatch = (caller: Caller, batch: BatchMoney): Caller => ({ ...caller, batch })

/** The ids of a caller, without its records. */
export interface CallerIds extends Pick<Caller, "keyId" | "endUserId" | "person"> {
  readonly app: { readonly id: string } | undefined
}

/** The ids of everything that has a budget for the caller. */
export const budgetSubjects = ({ org, app, keyId, person, endUserId, tags }: Caller): Subjects => ({
  org: [org.id],
  team: person?.teams ?? [],
  person: person === undefined ? [] : [person.id],
  app: app === undefined ? [] : [app.id],
  key: [keyId],
  endUser: endUserId === undefined ? [] : [endUserId],
  ...(tags !== undefined && { tags }),
})

/**
 * An id, escaped so that it can be written before a separator and a part that clients choose. Ids may contain `:` and `/`
 * themselves, and a client of one key must not be able to name an entry of another key.
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
