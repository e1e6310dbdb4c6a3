/** Accounts that are missing: who can make them, and how. Pure. */
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import { ServerFailed } from "../ask-server.ts"
import type { SessionOwner } from "../session-owner.ts"
import type { AccountKey } from "./account-store.ts"

/** The owner of the account that is for all callers. */
export const platform = ""

/** The account with which an owner asks a server; undefined if it can have none. */
export const keyOf = (
  { server: { id, oauth } }: ToolServerEntry,
  { person }: Pick<SessionOwner, "person">,
): AccountKey | undefined => {
  if (oauth?.of === "platform") return { server: id, owner: platform }
  return person === undefined ? undefined : { server: id, owner: person }
}

/** The path of the page on which a person connects an account. */
export const connectPath = (server: string): string => `/tools/connect/${server}`

const nameOf = ({ server: { id, name = id } }: ToolServerEntry): string => name

/** @param key undefined if the caller can have no account */
export const accountNeeded = (entry: ToolServerEntry, key: AccountKey | undefined): ServerFailed => {
  const { id } = entry.server
  const message =
    key === undefined
      ? `${nameOf(entry)} is for people with an account of their own: call with a device key or a personal access token`
      : key.owner === platform
        ? `${nameOf(entry)} is not connected: an operator connects it with weir tools connect ${id}`
        : `${nameOf(entry)} needs your consent: connect your account at ${connectPath(id)}`
  const canConnect = key !== undefined && key.owner !== platform
  return new ServerFailed({
    reason: "account",
    status: 401,
    headers: {},
    needed: { server: id, message, ...(canConnect && { path: connectPath(id) }) },
  })
}

export const unreachable = (cause: unknown): ServerFailed =>
  new ServerFailed({ reason: "unreachable", status: 0, headers: {}, cause })
