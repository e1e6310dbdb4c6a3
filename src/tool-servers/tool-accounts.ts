/** The account with which a server of tools is asked, if it wants more than the catalogue's credential. */
import { Context, Effect, Layer } from "effect"
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import type { ServerFailed } from "./ask-server.ts"
import type { SessionOwner } from "./session-owner.ts"

export class ToolAccounts extends Context.Service<
  ToolAccounts,
  {
    /** The headers that carry the account. */
    readonly headersOf: (
      entry: ToolServerEntry,
      owner: SessionOwner,
    ) => Effect.Effect<Readonly<Record<string, string>>, ServerFailed>
    /** The server does not take the account any more: it is renewed before it is used again. */
    readonly refused: (entry: ToolServerEntry, owner: SessionOwner) => Effect.Effect<void>
  }
>()("weir/tools/ToolAccounts") {
  static readonly layer = Layer.succeed(
    ToolAccounts,
    ToolAccounts.of({ headersOf: () => Effect.succeed({}), refused: () => Effect.void }),
  )
}
