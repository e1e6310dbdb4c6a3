/** The tools of a server as callers see them: those that the catalogue offers, under its names and descriptions. Pure. */
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { type HeaderParameter, headerParameters } from "../tools/header-values.ts"
import { isName, isOffered, offeredName } from "../tools/tool-names.ts"

export interface OfferedTool {
  /** The server's own name. */
  readonly own: string
  /** The name under which it is offered, without its server. */
  readonly name: string
  /** Its definition under that name. */
  readonly definition: JsonObject
  readonly parameters: ReadonlyArray<HeaderParameter>
}

/** @param usable the server's tools that clients can read */
export const offeredTools = (
  { server }: Pick<ToolServerEntry, "server">,
  usable: ReadonlyArray<JsonObject>,
): ReadonlyArray<OfferedTool> => {
  const offered = new Map<string, OfferedTool>()
  const { rename = {}, describe = {} } = server.tools ?? {}
  // A name that the catalogue gives to one tool is not the name of another one.
  const isRenamed = ({ name }: JsonObject) => Object.hasOwn(rename, String(name))
  const others = usable.filter((tool) => !isRenamed(tool))
  for (const definition of [...usable.filter(isRenamed), ...others]) {
    const { name: own, inputSchema } = definition
    if (!isName(own) || !isOffered(server, own)) continue
    const parameters = headerParameters(inputSchema)
    if (parameters === undefined) continue
    const name = offeredName(server, own)
    // The first of two tools of one name counts.
    if (offered.has(name)) continue
    const description = Object.hasOwn(describe, own) ? describe[own] : undefined
    offered.set(name, {
      own,
      name,
      definition: { ...definition, name, ...(description !== undefined && { description }) },
      parameters,
    })
  }
  return [...offered.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}
