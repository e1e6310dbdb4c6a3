/** The paths that are upgraded to WebSockets. */
import { Effect } from "effect"
import { makeExchangeSocket } from "./exchange-socket.ts"
import { makeRealtimeSocket } from "./realtime-socket.ts"
import { makeResponsesSocket } from "./responses-socket.ts"
import type { UpgradeHandler } from "./upgrades.ts"

export const socketHandlers = Effect.gen(function* () {
  return new Map<string, UpgradeHandler>([
    ["/t1/socket", yield* makeExchangeSocket],
    ["/openai/v1/responses", yield* makeResponsesSocket],
    ["/openai/v1/realtime", yield* makeRealtimeSocket],
  ])
})
