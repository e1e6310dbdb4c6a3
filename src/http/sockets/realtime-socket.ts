/** `GET /openai/v1/realtime?model=`: OpenAI's Realtime API. */

import { Effect } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import { modelNotAuthorised } from "../../calls/model.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { openaiProtocol } from "../../kinds/realtime/openai/protocol.ts"
import { Realtime } from "../../kinds/realtime/realtime.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { makeForCaller } from "../caller-request.ts"
import { handleOf } from "../compatible/request.ts"
import type { RouteError } from "../respond.ts"
import { OpenSockets } from "./open-sockets.ts"
import { chosenProtocol, queryCredential, withSocketCredential } from "./openai-credential.ts"
import { refuseUpgrade } from "./refusal.ts"
import { sessionHeaders } from "./session-headers.ts"
import { makeSocketCallers } from "./socket-callers.ts"
import type { Upgrade, UpgradeHandler } from "./upgrades.ts"

export const makeRealtimeSocket = Effect.gen(function* () {
  const openSockets = yield* OpenSockets
  const callers = yield* makeSocketCallers
  const realtime = yield* Realtime
  const { traced } = yield* makeForCaller

  const opened = Effect.fnUntraced(function* (upgrade: Upgrade, requestId: string): Effect.fn.Return<void, RouteError> {
    const { request, protocols, accept } = upgrade
    yield* openSockets.check
    const inQuery = queryCredential(request)
    if (inQuery !== undefined) return yield* inQuery
    const { caller, again, watch } = yield* callers.first(upgrade, (sent) => withSocketCredential(sent, upgrade))
    const named = yield* modelOf(request.url)
    const session = yield* sessionHeaders(request, caller)
    const beta = request.headers["openai-beta"]
    yield* realtime.run({
      protocol: openaiProtocol,
      requestId,
      ...session,
      again,
      named,
      model: handleOf(named, caller.org.aliases),
      headers: beta === undefined ? {} : { "openai-beta": beta },
      accept: () => {
        const socket = accept(chosenProtocol(protocols, "realtime"))
        if (socket === undefined) return undefined
        watch(socket)
        return {
          socket,
          running: (session) =>
            openSockets.add({
              kind: "realtime",
              ping: () => socket.ping(),
              drain: () => session.drain(),
              end: () => session.endNow(),
            }),
        }
      },
    })
  })

  const handler: UpgradeHandler = (upgrade) => {
    const requestId = newRequestId()
    const answered = Effect.catch(opened(upgrade, requestId), (error) =>
      Effect.map(logCause(toServiceError(error), requestId), () => refuseUpgrade(upgrade, chatApi, error, requestId)),
    )
    return traced(upgrade.request, requestId, () => 101)(answered)
  }
  return handler
})

/** Parameters of sessions that are no conversation with a model. */
const otherSessions = ["intent", "call_id"]

const modelOf = (url: string) => {
  const query = new URL(url, "http://gateway").searchParams
  const other = otherSessions.find((name) => query.has(name))
  const model = query.get("model") ?? ""
  if (other !== undefined)
    return Effect.fail(invalidInput([{ path: other, message: "such sessions are not supported" }]))
  if (model === "") return Effect.fail(invalidInput([{ path: "model", message: "is required" }]))
  return model.length <= 128 ? Effect.succeed(model) : Effect.fail(modelNotAuthorised)
}
