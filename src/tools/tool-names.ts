/** Names of tools, prompts and resources of several servers in one list. Pure. */
import type { ToolServer } from "../protocol/catalogue/tool-server.ts"

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

/** Whether a list has a name, or the start of it with * at its end. */
const isNamed = (list: ReadonlyArray<string>, name: string): boolean =>
  list.some((each) => each === name || (each.endsWith("*") && name.startsWith(each.slice(0, -1))))

/** Whether the catalogue offers a tool of a server. @param name the server's own */
export const isOffered = ({ tools }: Pick<ToolServer, "tools">, name: string): boolean =>
  (tools?.allow === undefined || isNamed(tools.allow, name)) && !isNamed(tools?.deny ?? [], name)

/** The name under which a tool is offered. */
export const offeredName = ({ tools }: Pick<ToolServer, "tools">, name: string): string =>
  (tools?.rename !== undefined && Object.hasOwn(tools.rename, name) ? tools.rename[name] : undefined) ?? name

/** The server's own name of a tool that is offered under a name. */
export const ownName = ({ tools }: Pick<ToolServer, "tools">, offered: string): string => {
  const renamed = Object.entries(tools?.rename ?? {})
  const [own] = renamed.find(([, name]) => name === offered) ?? [offered]
  return own
}

/** Whether a name can be shown and sent: no spaces or control characters, at most 128 characters. */
export const isName = (name: unknown): name is string =>
  typeof name === "string" && name.isWellFormed() && /^[^\s\p{C}]{1,128}$/u.test(name)
