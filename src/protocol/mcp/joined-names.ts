/** Names of tools, prompts and resources of several servers in one list, and for models. Pure. */

/** Between the id of a server, which has no `_`, and its own name. */
const separator = "__"

export const joinedName = (server: string, name: string): string => `${server}${separator}${name}`

export interface NamedAtServer {
  readonly server: string
  readonly name: string
}

/** The parts of a joined name; undefined if it names no server. */
export const splitName = (joined: string): NamedAtServer | undefined => {
  const at = joined.indexOf(separator)
  if (at <= 0 || at + separator.length >= joined.length) return undefined
  return { server: joined.slice(0, at), name: joined.slice(at + separator.length) }
}

/** A resource in the list of several servers: `weather+file:///a`. */
export const joinedUri = (server: string, uri: string): string => `${server}+${uri}`

export const splitUri = (joined: string): NamedAtServer | undefined => {
  const at = joined.indexOf("+")
  return at <= 0 ? undefined : { server: joined.slice(0, at), name: joined.slice(at + 1) }
}
