/** Tools of the gateway's own servers in requests and replies of other APIs. Pure. */

/** Between the id of a server and the name of its tool, as in lists of several servers. */
const separator = "__"

/** A server's tool, as its client names both. */
export interface ToolOfServer {
  readonly label: string
  readonly name: string
}

/** The tool that the model's name of it means; undefined if it is the client's own. @param servers the client's names, by their ids */
export const toolOfServer = (servers: ReadonlyMap<string, string>, named: string): ToolOfServer | undefined => {
  const at = named.indexOf(separator)
  const label = servers.get(named.slice(0, Math.max(0, at)))
  return label === undefined ? undefined : { label, name: named.slice(at + separator.length) }
}

/** The model's name of a tool, for a client that names its server. */
export const nameAtServer = (servers: ReadonlyMap<string, string>, label: string, name: string): string | undefined => {
  const [id] = [...servers].find(([, each]) => each === label) ?? []
  return id === undefined ? undefined : `${id}${separator}${name}`
}
