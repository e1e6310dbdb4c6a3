/** Requests to servers of tools of each sort, through one interface: remote ones, and processes of this machine. */
import { Context, Effect, Layer } from "effect"
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import { VendorClient } from "../upstream/client.ts"
import type { ServerFailed } from "./ask-server.ts"
import type { ServerSession } from "./server-session.ts"

export class ToolClient extends Context.Service<
  ToolClient,
  {
    readonly client: VendorClient["Service"]
    /** The session with a process, which its pool opens itself; undefined for other servers. */
    readonly sessionOf: (entry: ToolServerEntry) => Effect.Effect<ServerSession, ServerFailed> | undefined
  }
>()("weir/tools/ToolClient") {
  static readonly layer = Layer.effect(
    ToolClient,
    Effect.map(VendorClient, (client) => ToolClient.of({ client, sessionOf: () => undefined })),
  )
}
