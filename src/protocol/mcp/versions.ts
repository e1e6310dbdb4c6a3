/** Versions of the Model Context Protocol. Source: https://modelcontextprotocol.io/specification/versioning */

/** The version without sessions: each request says everything about itself. */
export const statelessVersion = "2026-07-28"

/** Versions that begin with `initialize`, the newest first. */
export const sessionVersions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const
export type SessionVersion = (typeof sessionVersions)[number]

export type McpVersion = typeof statelessVersion | SessionVersion

export const mcpVersions: ReadonlyArray<McpVersion> = [statelessVersion, ...sessionVersions]

export const isSessionVersion = (text: unknown): text is SessionVersion =>
  sessionVersions.some((version) => version === text)

/** Members of `_meta` that each request of the version without sessions has. */
export const metaNames = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  server: "io.modelcontextprotocol/serverInfo",
} as const
