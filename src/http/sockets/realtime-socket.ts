/** `GET /openai/v1/realtime?model=`: OpenAI's Realtime API. */

import { Effect, Schema } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import { modelNotAuthorised } from "../../calls/model.ts"
import { withTags } from "../../calls/tags.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { openaiProtocol } from "../../kinds/realtime/openai/protocol.ts"
import { Realtime } from "../../kinds/realtime/realtime.ts"
import { invalidInput, issuesOf } from "../../protocol/json/issues.ts"
import { SessionId } from "../../protocol/session.ts"
import { Tags, tagsInHeader } from "../../protocol/values/tags.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { makeForCaller } from "../caller-request.ts"
import { handleOf } from "../compatible/request.ts"
import type { RouteError } from "../respond.ts"
import { OpenSockets } from "./open-sockets.ts"
import { chosenProtocol, queryCredential, withSocketCredential } from "./openai-credential.ts"
import { refuseUpgrade } from "./refusal.ts"
import { makeSocketCallers } from "./socket-callers.ts"
import type { Upgrade, UpgradeHandler } from "./upgrades.ts"

const decodeTags = Schema.decodeUnknownEffect(Tags)
const readTags = (text: string) =>
  Effect.mapError(decodeTags(tagsInHeader(text)), (error) => invalidInput(issuesOf(error)))

const RealtimeHeaders = Schema.Struct({
  "x-svc-session-id": Schema.optionalKey(SessionId),
  "x-svc-purpose": Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[\w.:/-]{1,64}$/, { expected: "a purpose such as summary" })),
  ),
})

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
    const headers = yield* Schema.decodeUnknownEffect(RealtimeHeaders)(request.headers).pipe(
      Effect.mapError((error) => invalidInput(issuesOf(error))),
    )
    const sentTags = request.headers["x-svc-tags"]
    const tags = sentTags === undefined ? undefined : yield* readTags(sentTags)
    const tagged = yield* Effect.fromResult(withTags(caller, tags))
    const beta = request.headers["openai-beta"]
    yield* realtime.run({
      protocol: openaiProtocol,
      requestId,
      caller: tagged,
      again,
      named,
      model: handleOf(named, caller.org.aliases),
      sessionId: headers["x-svc-session-id"],
      purpose: headers["x-svc-purpose"],
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
