/** The catalogue's choice of a server's tools, and their names. Pure. */
import type { ToolServer } from "../protocol/catalogue/tool-server.ts"

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
