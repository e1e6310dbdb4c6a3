/** Servers of tools as operators see them: whether they can be reached, their tools with prices, and tools that have changed. */
import { Schema } from "effect"
import { ToolPrice } from "../catalogue/tool-server.ts"
import { storedName } from "../values/text.ts"

/** `url`: a remote server. `command`: a process of the gateway's machine. `openapi`: an HTTP API. */
export const ToolServerKind = Schema.Literals(["url", "command", "openapi"])

/**
 * `offered`: callers may use it, if their lists allow it. `held_back`: its definition has changed, and waits for agreement.
 * `not_offered`: the catalogue does not offer it, or its name or schema cannot be used.
 */
export const ToolState = Schema.Literals(["offered", "held_back", "not_offered"])

const toolFields = {
  /** The name at `/mcp/SERVER`. */
  name: Schema.String,
  /** The name at `/mcp` and in limits, e.g. `weather__forecast`. */
  handle: Schema.String,
  /** The server's own name. */
  ownName: Schema.String,
  state: ToolState,
  price: ToolPrice,
}

export const ToolSummary = Schema.Struct(toolFields).annotate({ identifier: "ToolSummary" })
export type ToolSummary = typeof ToolSummary.Type

const Definition = Schema.Record(Schema.String, Schema.Json)

/** A tool with its definition as the server has it now, under the catalogue's name and description. */
export const ToolDetail = Schema.Struct({ ...toolFields, definition: Definition }).annotate({
  identifier: "ToolDetail",
})
export type ToolDetail = typeof ToolDetail.Type

const serverFields = {
  id: Schema.String,
  name: Schema.optionalKey(Schema.String),
  kind: ToolServerKind,
  /** The address, or the program. */
  address: Schema.String,
  /** The version of the protocol that it speaks; absent if it cannot be reached. */
  version: Schema.optionalKey(Schema.String),
  isReachable: Schema.Boolean,
  /** The reason why it cannot be reached or used. */
  problem: Schema.optionalKey(Schema.String),
  /** Headers and variables whose secret is not set; `credential` among them. */
  missingSecrets: Schema.Array(Schema.String),
  /** Whether it has more tools than are read. */
  isCut: Schema.Boolean,
}

export const ToolServerEntry = Schema.Struct({ ...serverFields, tools: Schema.Array(ToolSummary) }).annotate({
  identifier: "ToolServerEntry",
})
export type ToolServerEntry = typeof ToolServerEntry.Type

export const ToolServerList = Schema.Struct({ servers: Schema.Array(ToolServerEntry) }).annotate({
  identifier: "ToolServerList",
})
export type ToolServerList = typeof ToolServerList.Type

export const ToolServerDetail = Schema.Struct({ ...serverFields, tools: Schema.Array(ToolDetail) }).annotate({
  identifier: "ToolServerDetail",
})
export type ToolServerDetail = typeof ToolServerDetail.Type

/** SHA-256, in hexadecimal. */
const Hash = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/, { expected: "a hash of 64 hexadecimal digits" }))

/** A tool whose definition is another one than was agreed to. */
export const ChangedTool = Schema.Struct({
  server: Schema.String,
  /** The server's own name. */
  tool: Schema.String,
  agreed: Definition,
  changed: Definition,
  changedAt: Schema.String,
  /** Names the changed definition. */
  hash: Hash,
}).annotate({ identifier: "ChangedTool" })
export type ChangedTool = typeof ChangedTool.Type

/** The first 1,000, by server and tool. */
export const ChangedTools = Schema.Struct({ changes: Schema.Array(ChangedTool) }).annotate({
  identifier: "ChangedTools",
})
export type ChangedTools = typeof ChangedTools.Type

export const AgreeTerms = Schema.Struct({
  /** The tools by the server's own names; all that wait if absent. */
  tools: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        tool: storedName(128),
        /** The changed definition that was seen: if the tool has changed again since, it goes on to wait. */
        hash: Schema.optionalKey(Hash),
      }),
    ).check(Schema.isMinLength(1), Schema.isMaxLength(1000)),
  ),
}).annotate({ identifier: "AgreeTerms" })
export type AgreeTerms = typeof AgreeTerms.Type

/** The tools that are offered again, by the server's own names. */
export const AgreedTools = Schema.Struct({ agreed: Schema.Array(Schema.String) }).annotate({
  identifier: "AgreedTools",
})
export type AgreedTools = typeof AgreedTools.Type
