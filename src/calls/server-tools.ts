/** The way to the tools of the catalogue's servers, for exchanges. */
import { Context, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { EngineAccount } from "../policies/engines/engine-price.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Connection } from "./connection.ts"
import type { Call } from "./held-call.ts"
import type { CallRequest } from "./kind.ts"
import type { OfferedTools, OpenTools } from "./offered-tools.ts"

/** The supervisor of calls, as a call that makes others knows it. */
export interface CallsWithin {
  readonly run: <Request extends CallRequest, Body extends object>(
    call: Call<Request, Body>,
    connection: Connection<Body>,
  ) => Effect.Effect<void>
  /** The account of engines that mask for a caller. */
  readonly engineAccount: (caller: Caller) => EngineAccount
}

/** Without servers, none is known. */
export const ServerTools = Context.Reference<{
  readonly open: (within: CallsWithin, ...asked: Parameters<OpenTools>) => Effect.Effect<OfferedTools, ServiceError>
}>("weir/calls/ServerTools", {
  defaultValue: () => ({ open: (_, [asked]) => Effect.fail(unknownServer(asked?.server ?? "")) }),
})

export const unknownServer = (server: string): ServiceError =>
  serviceError("bad_request", `tools: there is no server of tools ${server}, or it may not be used`, {
    detail: { issues: [{ path: "tools", message: `has no server ${server} that may be used` }] },
  })
