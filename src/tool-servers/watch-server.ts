/** Listens to the changes that a server of tools announces, until the scope closes. */
import { Effect, Schedule, type Scope } from "effect"
import { authorize } from "../calls/vendor/credential.ts"
import { isNotification, isRequest, type NotificationMessage } from "../protocol/mcp/message.ts"
import type { UpstreamRequest } from "../upstream/client.ts"
import { type Addressed, type AskServices, ask, ownAnswersAt, ServerFailed } from "./ask-server.ts"
import { MessageReader } from "./message-reader.ts"
import type { OwnAnswers } from "./own-answers.ts"
import { lastSlash, requestTo } from "./server-request.ts"
import { isStateless, type ServerSession, statelessMeta } from "./server-session.ts"

export interface WatchedChanges {
  /** The server's own URIs of resources. */
  readonly resources: ReadonlyArray<string>
  readonly changed: (message: NotificationMessage) => void
  /** The server has answered: from here on its changes are known, or it announces none. */
  readonly begun: () => void
}

/** The most bytes of a stream of changes, after which it is opened again. */
const mostBytes = 64 * 1024 * 1024

/** Opens the stream again when it ends; a server without one is asked again after ever longer pauses. */
export const watchServer = (
  services: AskServices,
  at: Addressed,
  session: ServerSession,
  changes: WatchedChanges,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (!isStateless(session)) {
      for (const uri of changes.resources) {
        yield* Effect.ignore(
          ask(services, at, session, { method: "resources/subscribe", params: { uri } }, "subscribe"),
        )
      }
    }
    const answers = ownAnswersAt(services, at, session)
    const once = Effect.flatMap(authorize(services.client, at.target, { path: "", body: "" }), (authorization) =>
      listen(services, requestOf(at, session, changes, authorization), changes, answers),
    )
    yield* Effect.ignore(Effect.repeat(Effect.ignore(once), pauses))
  })

const pauses = Schedule.min([Schedule.exponential("2 seconds"), Schedule.spaced("5 minutes")])

const requestOf = (
  { entry, target, account }: Addressed,
  session: ServerSession,
  { resources }: WatchedChanges,
  authorization: Readonly<Record<string, string>>,
): UpstreamRequest => {
  const { baseUrl } = target.vendor
  const given = { ...entry.headers, ...account, ...authorization }
  if (isStateless(session)) {
    const method = "subscriptions/listen"
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...(resources.length > 0 && { resourceSubscriptions: resources }),
    }
    const params = { _meta: statelessMeta(), notifications }
    const text = JSON.stringify({ jsonrpc: "2.0", id: "listen", method, params })
    return { ...requestTo(baseUrl, given, session, { text, method }), baseUrl, network: target.network }
  }
  return {
    method: "GET",
    baseUrl,
    path: lastSlash(baseUrl),
    headers: {
      ...given,
      accept: "text/event-stream",
      "mcp-protocol-version": session.version,
      ...(session.sessionId !== undefined && { "mcp-session-id": session.sessionId }),
    },
    body: "",
    network: target.network,
  }
}

const listen = (
  { client }: AskServices,
  request: UpstreamRequest,
  { changed, begun }: WatchedChanges,
  answers: OwnAnswers | undefined,
): Effect.Effect<void, ServerFailed> =>
  Effect.callback((resume) => {
    let status = 0
    let reader: MessageReader | undefined
    const end = () =>
      resume(status === 200 ? Effect.void : Effect.fail(new ServerFailed({ reason: "refused", status, headers: {} })))
    const call = client.start(request, {
      connected: () => {},
      head: (head) => {
        status = head.status
        begun()
        reader = new MessageReader(head.headers["content-type"] ?? "", mostBytes, ({ message }) => {
          if (isNotification(message)) changed(message)
          else if (isRequest(message)) answers?.answer(message)
        })
      },
      bytes: (bytes) => {
        reader?.push(bytes)
        if (status !== 200 || reader?.isMalformed === true) {
          call.abort()
          end()
        }
      },
      ended: end,
      broken: end,
    })
    return Effect.sync(() => call.abort())
  })
