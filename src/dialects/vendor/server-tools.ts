/** Tools of the gateway's own servers in requests and replies of other APIs. Pure. */

import { joinedName, splitName } from "../../protocol/mcp/joined-names.ts"
import { needsApproval, type ServerTools } from "../../protocol/tool.ts"

/** A server's tool, as its client names both. */
export interface ToolOfServer {
  readonly label: string
  readonly name: string
}

/** The same, for a call of it. */
export interface CalledTool extends ToolOfServer {
  readonly needsApproval: boolean
}

/** A call that its client approves, and its arguments as JSON. */
export interface ApprovedCall extends ToolOfServer {
  readonly args: string
}

/** The servers that a request names. */
export interface NamedServers {
  readonly tools: ReadonlyArray<ServerTools>
  /** The client's names of them, by their ids. */
  readonly labels: ReadonlyMap<string, string>
  /** The calls that the client approves, by their ids. */
  readonly approved: ReadonlyMap<string, ApprovedCall>
}

/** The servers of a request while it is read. */
export class ServersInRequest implements NamedServers {
  readonly labels = new Map<string, string>()
  readonly approved = new Map<string, ApprovedCall>()
  readonly tools: Array<ServerTools> = []
  /** The ids of the calls in its thread. */
  readonly made = new Set<unknown>()
  /** The calls in its thread for which its client was asked. */
  readonly asked = new Map<string, ApprovedCall>()

  add(label: string, tools: ServerTools): void {
    this.labels.set(tools.server, label)
    this.tools.push(tools)
  }

  /** The model's name of a tool; undefined if its server is not one of the gateway's. */
  nameOf(label: unknown, name: unknown): string | undefined {
    const [id] = [...this.labels].find(([, each]) => each === label) ?? []
    return id === undefined ? undefined : joinedName(id, String(name))
  }

  /** Undefined if it names none. */
  get named(): NamedServers | undefined {
    const { labels, approved, tools } = this
    return labels.size === 0 ? undefined : { labels, approved, tools }
  }
}

/** The tool that the model's name of it means; undefined if it is the client's own. */
export const toolOfServer = ({ labels, tools }: NamedServers, named: string): CalledTool | undefined => {
  const { server, name } = splitName(named) ?? {}
  const label = server === undefined ? undefined : labels.get(server)
  if (label === undefined || name === undefined) return undefined
  return { label, name, needsApproval: tools.some((each) => each.server === server && needsApproval(each, name)) }
}

/** The id of the server at an address of the gateway; undefined if it is another's. @param origins of the gateway */
export const serverAt = (url: unknown, origins: ReadonlyArray<string> = []): string | undefined => {
  const origin = typeof url === "string" ? origins.find((each) => url.startsWith(`${each}/mcp/`)) : undefined
  if (origin === undefined || typeof url !== "string") return undefined
  const id = url.slice(`${origin}/mcp/`.length).replace(/\/$/, "")
  return /^[a-z][a-z0-9-]{0,30}$/.test(id) ? id : undefined
}
