/** The way in which a server of tools is spoken to: the version that it has, and its session, if its version has sessions. */
import type { JsonObject } from "../protocol/mcp/message.ts"
import { type McpVersion, metaNames, statelessVersion } from "../protocol/mcp/versions.ts"

export interface ServerSession {
  readonly version: McpVersion
  /** The id that the server has given to the session. */
  readonly sessionId: string | undefined
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions: string | undefined
}

export const isStateless = ({ version }: Pick<ServerSession, "version">): boolean => version === statelessVersion

/** The gateway, as servers see it. */
export const clientInfo = { name: "weir", version: "1" }

/** The members that each request to a server without sessions has in `_meta`. */
export const statelessMeta = (capabilities: JsonObject = {}, info: JsonObject = clientInfo): JsonObject => ({
  [metaNames.version]: statelessVersion,
  [metaNames.client]: info,
  [metaNames.capabilities]: capabilities,
})
