/** The paths that are upgraded to WebSockets. */
import { Effect } from "effect"
import { WeirConfig } from "../../config.ts"
import { makeExchangeSocket } from "./exchange-socket.ts"
import { makeRealtimeSocket } from "./realtime-socket.ts"
import { makeResponsesSocket } from "./responses-socket.ts"
import type { SocketRoute } from "./upgrades.ts"

export const socketRoutes = Effect.gen(function* () {
  const { socketFrameBytes, realtimeFrameBytes } = yield* WeirConfig
  return new Map<string, SocketRoute>([
    ["/t1/socket", { handle: yield* makeExchangeSocket, frameBytes: socketFrameBytes }],
    ["/openai/v1/responses", { handle: yield* makeResponsesSocket, frameBytes: socketFrameBytes }],
    ["/openai/v1/realtime", { handle: yield* makeRealtimeSocket, frameBytes: realtimeFrameBytes }],
  ])
})
