/** Messages that only sessions have: a client asks for changes of a resource, and answers a question of a server. */
import type { ServerResponse } from "node:http"
import { Effect } from "effect"
import type { Message, RequestMessage } from "../../protocol/mcp/message.ts"
import { sessionVersions } from "../../protocol/mcp/versions.ts"
import type { Sealer } from "../../store/seal.ts"
import { ask, sendTo } from "../../tool-servers/ask-server.ts"
import type { CallerTools } from "../../tool-servers/caller-tools.ts"
import { isStateless } from "../../tool-servers/server-session.ts"
import type { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { type CallPlace, findCall } from "./find-call.ts"
import { invalidRequest, unknownName } from "./mcp-errors.ts"
import { accept, refuse, sendResult } from "./replies.ts"
import { openRequest } from "./session-token.ts"

interface Answering {
  readonly response: ServerResponse
}

interface Services {
  readonly tools: CallerTools["Service"]
  readonly sessions: ToolSessions["Service"]
  readonly sealer: Sealer
}

export const makeSessionMessages = ({ tools, sessions, sealer }: Services) => {
  /** A session asks for the changes of a resource, which come on its stream. */
  const subscribe = Effect.fnUntraced(function* (
    exchange: CallPlace & Answering,
    { id, method, params = {} }: RequestMessage,
  ): Effect.fn.Return<void> {
    const { response, owner } = exchange
    const found = yield* findCall(tools, exchange, "resources/read", params)
    const [target] = found !== undefined && "entry" in found ? found.entry.targets : []
    if (found === undefined || "needed" in found || target === undefined)
      return refuse(response, id, unknownName("resources/read", params))
    const { entry, name } = found
    const opened = sessions.open(entry, target, owner)
    // A server without sessions learns of it when the stream is opened.
    const asked = Effect.flatMap(opened, ({ at, session }) =>
      isStateless(session)
        ? Effect.void
        : ask(sessions.asking, at, session, { method, params: { uri: name } }, "resource"),
    )
    yield* Effect.ignore(asked)
    return sendResult(response, id, {})
  })

  /** Gives a client's answer to the server that asked. */
  const forward = Effect.fnUntraced(function* (
    { caller, response, entries, owner }: CallPlace & Answering,
    message: Message,
  ): Effect.fn.Return<void> {
    const id = "id" in message ? message.id : undefined
    const asked = id == null ? undefined : openRequest(sealer, caller, id)
    const entry = entries.find(({ server }) => server.id === asked?.server)
    const target = entry?.targets.find(({ key }) => key === asked?.target)
    if (asked === undefined || entry === undefined || target === undefined) {
      return refuse(response, undefined, invalidRequest("The response answers no request"))
    }
    const text = JSON.stringify({ ...message, id: asked.id })
    const session = { version: sessionVersions[0], sessionId: asked.session ?? undefined }
    const sent = Effect.flatMap(sessions.open(entry, target, owner), ({ at }) =>
      sendTo(sessions.asking, at, session, { method: "", text }, undefined),
    )
    yield* Effect.catch(sent, (cause) =>
      Effect.logWarning("A client's answer did not reach its server", { server: entry.server.id, cause }),
    )
    return accept(response)
  })

  return { subscribe, forward }
}
