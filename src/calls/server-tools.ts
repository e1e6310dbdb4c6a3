/** Tools of the catalogue's servers in exchanges: the model calls them, and the gateway makes the calls. */
import { Context, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { ToolCallBlock, ToolResultBlock } from "../protocol/block.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { ServerTools as AskedTools, FunctionTool } from "../protocol/tool.ts"
import type { RunCall } from "./services.ts"

/** The tools of one exchange. */
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

interface ToolsInExchanges {
  /** Fails if the caller may use none of a server's tools, or a server does not list them. */
  readonly open: (
    asked: ReadonlyArray<AskedTools>,
    caller: Caller,
    run: RunCall,
  ) => Effect.Effect<OfferedTools, ServiceError>
}

/** Without servers, none is known. */
export const ServerTools = Context.Reference<ToolsInExchanges>("weir/calls/ServerTools", {
  defaultValue: () => ({ open: ([asked]) => Effect.fail(unknownServer(asked?.server ?? "")) }),
})

export const unknownServer = (server: string): ServiceError =>
  serviceError("bad_request", `tools: there is no server of tools ${server}, or it may not be used`, {
    detail: { issues: [{ path: "tools", message: `has no server ${server} that may be used` }] },
  })
