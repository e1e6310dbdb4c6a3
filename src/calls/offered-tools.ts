/** The tools of the catalogue's servers in one exchange: the model calls them, and the gateway makes the calls. */
import type { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { Marks } from "../policies/masks/marks.ts"
import type { ToolCallBlock, ToolResultBlock } from "../protocol/block.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { FunctionTool, ServerTools } from "../protocol/tool.ts"

export interface OfferedTools {
  /** The tools, as the model gets them. */
  readonly functions: ReadonlyArray<FunctionTool>
  /** Whether the model's name of a tool is one of them. */
  readonly has: (name: string) => boolean
  /** Whether its calls end the exchange until the client approves them. */
  readonly needsApproval: (name: string) => boolean
  /**
   * Makes a call of the model: it is admitted, held, settled and recorded as a call of its own. A call that fails has a result that
   * says so.
   * @param requestId under which it is made once
   */
  readonly call: (call: ToolCallBlock, requestId: string) => Effect.Effect<ToolResultBlock>
}

/**
 * The tools of servers for a caller. Fails if it may use none of a server's tools, or a server does not list them.
 * @param marks of the request, to which those of results are added; undefined if it has none
 */
export type OpenTools = (
  asked: ReadonlyArray<ServerTools>,
  caller: Caller,
  marks: Marks | undefined,
) => Effect.Effect<OfferedTools, ServiceError>
