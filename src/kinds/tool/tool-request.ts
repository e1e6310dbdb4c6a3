/** A request to a server of tools, and its reply. */
import { Schema } from "effect"
import type { CallRequest } from "../../calls/kind.ts"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import type { JsonObject } from "../../protocol/mcp/message.ts"
import type { SessionOwner } from "../../tool-servers/session-owner.ts"
import type { HeaderParameter } from "../../tools/header-values.ts"
import type { ToolPrices } from "../../tools/tool-price.ts"

/** Requests that are passed to a server; of these, only calls of tools can have a price. */
const toolMethods = ["tools/call", "prompts/get", "resources/read", "completion/complete"] as const
export type ToolMethod = (typeof toolMethods)[number]

export const isToolMethod = (method: string): method is ToolMethod => toolMethods.some((each) => each === method)

export interface ToolRequest extends CallRequest {
  readonly entry: ToolServerEntry
  readonly method: ToolMethod
  /** The server's own name of the tool or prompt, or its own URI of the resource. */
  readonly name: string
  /** The name in usage records, e.g. `weather__forecast`. */
  readonly handle: string
  readonly prices: ToolPrices | undefined
  /** The client's message, as JSON. */
  readonly text: string
  readonly params: JsonObject
  /** Arguments that are sent in headers too. */
  readonly parameters: ReadonlyArray<HeaderParameter>
  readonly owner: SessionOwner
  readonly client: ToolClientSide
}

/** The client of a call. */
export interface ToolClientSide {
  /** Whether it speaks the version without sessions. */
  readonly isStateless: boolean
  /** Whether names of resources have their server's. */
  readonly isJoined: boolean
  /** Gives it a message of the server that comes before the result. */
  readonly notify: (text: string) => void
  /** The id under which it gets a request of the server; undefined if it takes none. */
  readonly requestIdFor: ((session: string | undefined, id: string | number) => string) | undefined
}

/** The message that answers a call, as JSON, with the id that it has at the server; and the code of an error. */
export const ToolReply = Schema.Struct({ message: Schema.String, errorCode: Schema.optionalKey(Schema.Int) })
export type ToolReply = typeof ToolReply.Type
