/** Accounts at servers of tools, as their owners see them. */
import { Schema } from "effect"

export const ToolServerState = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** `expired`: its owner must consent again. */
  state: Schema.Literals(["connected", "expired", "missing"]),
  connectedAt: Schema.optionalKey(Schema.String),
})

export const ToolServerStates = Schema.Struct({ data: Schema.Array(ToolServerState) })
export type ToolServerStates = typeof ToolServerStates.Type

export const ConsentAddress = Schema.Struct({
  /** The address at which the owner gives consent, with a browser. It is valid once, for ten minutes. */
  url: Schema.String,
})
export type ConsentAddress = typeof ConsentAddress.Type
