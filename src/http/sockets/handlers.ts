/** The paths that are upgraded to WebSockets. */
import { Effect } from "effect"
import { WeirConfig } from "../../config.ts"
import { geminiVersions } from "../compatible/model-path.ts"
import { makeExchangeSocket } from "./exchange-socket.ts"
import { makeLiveSocket } from "./live-socket.ts"
import { makeRealtimeSocket } from "./realtime-socket.ts"
import { makeResponsesSocket } from "./responses-socket.ts"
import type { SocketRoute } from "./upgrades.ts"

/** Addresses of the Live API of Google. A client with a token adds `Constrained`. */
const geminiLivePaths = geminiVersions.flatMap((version) => {
  const path = `/gemini/ws/google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateContent`
  return [path, `${path}Constrained`]
})
const vertexLivePaths = ["v1", "v1beta1"].map(
  (version) => `/vertex/ws/google.cloud.aiplatform.${version}.LlmBidiService/BidiGenerateContent`,
)

export const socketRoutes = Effect.gen(function* () {
  const { socketFrameBytes, realtimeFrameBytes } = yield* WeirConfig
  const gemini = { handle: yield* makeLiveSocket("gemini"), frameBytes: realtimeFrameBytes }
  const vertex = { handle: yield* makeLiveSocket("vertex"), frameBytes: realtimeFrameBytes }
  return new Map<string, SocketRoute>([
    ...geminiLivePaths.map((path) => [path, gemini] as const),
    ...vertexLivePaths.map((path) => [path, vertex] as const),
    ["/t1/socket", { handle: yield* makeExchangeSocket, frameBytes: socketFrameBytes }],
    ["/openai/v1/responses", { handle: yield* makeResponsesSocket, frameBytes: socketFrameBytes }],
    ["/openai/v1/realtime", { handle: yield* makeRealtimeSocket, frameBytes: realtimeFrameBytes }],
  ])
})
