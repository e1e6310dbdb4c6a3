/** A response that cannot be written ends alone: without a listener, its error would end the process and all its streams. */
import { Effect } from "effect"
import { beforeRequest, type NodeServer } from "./listener.ts"

export const surviveResponseErrors = (server: NodeServer): Effect.Effect<void> =>
  Effect.map(Effect.context<never>(), (services) => {
    const log = Effect.runForkWith(services)
    beforeRequest(server, (_request, response) => {
      response.on("error", (cause) => void log(Effect.logError("A response could not be written", cause)))
    })
  })
