/** Who calls a runtime route, however they showed it. */
import type { AppEntry, OrgEntry } from "../catalogue/snapshot.ts"

export interface Caller extends OrgEntry {
  /** What usage is attributed to: an application key, a device key or a personal access token. */
  readonly keyId: string
  /** Absent where a person calls: with a device key or a token of their own. */
  readonly app: AppEntry["app"] | undefined
  /** The application's end user, where the caller came with an end user's token. */
  readonly endUserId: string | undefined
  /** The member behind a device key or a token of its own. */
  readonly person?: { readonly id: string; readonly teams: ReadonlyArray<string> } | undefined
  /** Present where the request was signed; the gate must see it for the first time. */
  readonly nonce: string | undefined
}

/** Whose sessions they are: a key's, and with an end user's token that end user's alone. */
export const sessionOwner = ({ keyId, endUserId }: Caller): string =>
  endUserId === undefined ? keyId : `${keyId}/${endUserId}`
