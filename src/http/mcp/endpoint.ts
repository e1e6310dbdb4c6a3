/** The endpoint of the Model Context Protocol: one message a request, for all servers or for one. */
import { randomUUID } from "node:crypto"
import type { ServerResponse } from "node:http"
import { Context, Effect, Layer, Result } from "effect"
import { Gate } from "../../admission/gate.ts"
import { plainRequest } from "../../admission/rates/caller-limits.ts"
import { newRequestId } from "../../calls/calls.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { WeirConfig } from "../../config.ts"
import type { Caller } from "../../identity/caller.ts"
import { makeTool } from "../../kinds/tool/tool.ts"
import { isToolMethod, type ToolMethod } from "../../kinds/tool/tool-request.ts"
import { errorStatus, type ServiceError, serviceError } from "../../protocol/error.ts"
import { isNotification, type RequestMessage } from "../../protocol/mcp/message.ts"
import { statelessVersion } from "../../protocol/mcp/versions.ts"
import { Sealing } from "../../store/seal.ts"
import { toServiceError } from "../../store/unavailable.ts"
import { logCause } from "../../telemetry/logs.ts"
import { CallerTools } from "../../tool-servers/caller-tools.ts"
import { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { unlikeArguments } from "../../tools/header-values.ts"
import { makeCallRunner } from "../call-runner.ts"
import { type Authenticated, makeForCaller, type RuntimeRequest, type UploadRequest } from "../caller-request.ts"
import { withCredential } from "../compatible/credential.ts"
import { Draining } from "../draining.ts"
import { challengeOf } from "../oauth/resources.ts"
import { originOf } from "../request.ts"
import type { RouteError } from "../respond.ts"
import { makeRevocation } from "../revocation.ts"
import { accountAnswer, askingOf } from "./account-needed.ts"
import { agreedVersion, discovered, initialised, listed, namedList } from "./answers.ts"
import { type ChangeStream, everything, filterOf, streamChanges } from "./change-stream.ts"
import { type CallPlace, findCall } from "./find-call.ts"
import {
  errorOf,
  errorText,
  foreignOrigin,
  headerMismatch,
  invalidParams,
  methodNotFound,
  unknownName,
  unknownSession,
} from "./mcp-errors.ts"
import { OpenStreams } from "./open-streams.ts"
import { makeOriginCheck } from "./origin.ts"
import { type McpMessage, readMcp } from "./read-message.ts"
import { accept, answerWith, notTaken, refuse, sendResult, write } from "./replies.ts"
import { makeRunCall } from "./run-call.ts"
import { makeCancelCall, RunningCalls } from "./running-calls.ts"
import { makeSessionMessages } from "./session-messages.ts"
import { type ClientSession, callerName, clientOf, openSession, ownerOf, sealSession } from "./session-token.ts"

interface Exchange extends CallPlace {
  readonly authenticated: Authenticated
  readonly response: ServerResponse
  readonly read: McpMessage
  /** Undefined for a message without one. */
  readonly session: ClientSession | undefined
}

export class McpEndpoint extends Context.Service<
  McpEndpoint,
  {
    /** Answers a request by writing to its response. @param server undefined for all of them */
    readonly serve: (
      request: UploadRequest,
      response: ServerResponse,
      server: string | undefined,
    ) => Effect.Effect<void>
  }
>()("weir/http/McpEndpoint") {
  static readonly layer = Layer.effect(
    McpEndpoint,
    Effect.gen(function* () {
      const tools = yield* CallerTools
      const sessions = yield* ToolSessions
      const { sealer } = yield* Sealing
      const catalogue = yield* Catalogue
      const config = yield* WeirConfig
      const admitsOrigin = makeOriginCheck(config)
      const { isDraining } = yield* Draining
      const { whileValid } = yield* makeRevocation
      const { identify, again } = yield* makeForCaller
      const gate = yield* Gate
      /** A message that is no call counts in its caller's rates: a server may be asked for it. */
      const admit = (caller: Caller) => gate.admit(plainRequest(caller))
      const running = new RunningCalls()
      const cancelCall = yield* makeCancelCall(running)
      const { subscribe, forward } = makeSessionMessages({ tools, sessions, sealer })
      const streams = new OpenStreams(mostStreams)
      const changes = (request: RuntimeRequest, stream: ChangeStream) =>
        Effect.acquireUseRelease(
          Effect.suspend(() => {
            const end = streams.begin(callerName(stream.place.caller))
            return end === undefined ? Effect.fail(tooManyStreams) : Effect.succeed(end)
          }),
          () => whileValid(() => again(request), streamChanges({ catalogue, tools, sessions, isDraining }, stream)),
          (end) => Effect.sync(end),
        )
      const runCall = makeRunCall(yield* makeCallRunner, makeTool(sessions), sealer, running)

      const instructionsOf = ({ isJoined, entries: [entry], owner }: CallPlace) => {
        const [target] = entry?.targets ?? []
        if (isJoined || entry === undefined || target === undefined) return Effect.undefined
        const session = Effect.map(sessions.open(entry, target, owner), ({ session }) => session.instructions)
        return Effect.orElseSucceed(session, () => undefined)
      }

      const call = Effect.fnUntraced(function* (
        exchange: Exchange,
        message: RequestMessage,
        method: ToolMethod,
      ): Effect.fn.Return<void> {
        const { authenticated, response, read, session } = exchange
        const { id, params = {} } = message
        const found = yield* findCall(tools, exchange, method, params)
        if (found === undefined) return refuse(response, id, unknownName(method, params))
        const isModern = read.version === statelessVersion
        const { headers } = authenticated.request
        const asking = askingOf(originOf(config, authenticated.request), isModern, message, session)
        if ("needed" in found) return answerWith(response, id, accountAnswer(found.needed, asking))
        const wrong = isModern ? unlikeArguments(found.parameters, params["arguments"], headers) : undefined
        if (wrong !== undefined) return refuse(response, id, headerMismatch(wrong))
        const hasSession = session !== undefined
        yield* runCall({ authenticated, response, message, read, found, place: exchange, hasSession, asking })
      })

      const answer = Effect.fnUntraced(function* (
        exchange: Exchange,
        message: RequestMessage,
      ): Effect.fn.Return<void, RouteError> {
        const { response, caller, read } = exchange
        const { id, method, params = {} } = message
        const isModern = read.version === statelessVersion
        if (isToolMethod(method)) return yield* call(exchange, message, method)
        if (method !== "ping") yield* admit(caller)
        const list = namedList(method)
        if (list !== undefined) {
          const page = yield* listed(tools, list, { ...exchange, isStateless: isModern, cursor: params["cursor"] })
          return sendResult(response, id, page)
        }
        switch (method) {
          case "server/discover":
            if (isModern) return sendResult(response, id, discovered(yield* instructionsOf(exchange)))
            break
          case "subscriptions/listen": {
            const filter = filterOf(params)
            if (!isModern) break
            if (filter === undefined) return refuse(response, id, invalidParams("notifications is not a filter"))
            return yield* changes(exchange.authenticated.request, { response, place: exchange, filter, id })
          }
          case "initialize": {
            if (isModern) break
            const version = agreedVersion(params["protocolVersion"])
            const session = { version, id: randomUUID(), ...clientOf(params) }
            const result = initialised(version, yield* instructionsOf(exchange))
            return sendResult(response, id, result, { "mcp-session-id": sealSession(sealer, caller, session) })
          }
          case "ping":
          case "logging/setLevel":
            if (!isModern) return sendResult(response, id, {})
            break
          case "resources/subscribe":
          case "resources/unsubscribe":
            if (!isModern) return yield* subscribe(exchange, message)
        }
        return refuse(response, id, methodNotFound(method, isModern))
      })

      const entriesFor = (caller: Caller, server: string | undefined) => {
        const entries = tools.servers(caller).filter(({ server: { id } }) => server === undefined || server === id)
        return server !== undefined && entries.length === 0
          ? Effect.fail(serviceError("not_found", "There is no such server of tools"))
          : Effect.succeed(entries)
      }

      /** The stream of a session, on which the client gets what belongs to none of its requests. */
      const watch = Effect.fnUntraced(function* (
        authenticated: Authenticated,
        response: ServerResponse,
        server: string | undefined,
      ): Effect.fn.Return<void, RouteError> {
        const { caller, request } = authenticated
        const token = request.headers["mcp-session-id"]
        const session = token === undefined ? undefined : openSession(sealer, caller, token)
        if (token === undefined) return notTaken(response)
        if (session === undefined) return refuse(response, undefined, unknownSession)
        yield* admit(caller)
        const entries = yield* entriesFor(caller, server)
        const place = { caller, entries, isJoined: server === undefined, owner: ownerOf(caller, session) }
        yield* changes(request, { response, place, filter: everything, id: undefined })
      })

      const serve = Effect.fnUntraced(function* (
        authenticated: Authenticated,
        response: ServerResponse,
        server: string | undefined,
      ): Effect.fn.Return<void, RouteError> {
        const { caller, request, body } = authenticated
        const { headers } = request
        if (request.method === "GET") return yield* watch(authenticated, response, server)
        const result = readMcp(headers, body)
        if (Result.isFailure(result)) return refuse(response, result.failure.id, result.failure)
        const read = result.success
        const { message } = read
        const entries = yield* entriesFor(caller, server)
        const token = read.version === statelessVersion ? undefined : headers["mcp-session-id"]
        const session = token === undefined ? undefined : openSession(sealer, caller, token)
        if (token !== undefined && session === undefined) return refuse(response, undefined, unknownSession)
        const owner = ownerOf(caller, session)
        const exchange = {
          authenticated,
          response,
          read,
          session,
          caller,
          entries,
          isJoined: server === undefined,
          owner,
        }
        if (!("method" in message)) return yield* Effect.andThen(admit(caller), forward(exchange, message))
        if (isNotification(message)) {
          const id = message.params?.["requestId"]
          const isCancel = message.method === "notifications/cancelled"
          if (isCancel && session !== undefined && (typeof id === "string" || typeof id === "number"))
            yield* cancelCall(owner, id)
          return accept(response)
        }
        return yield* answer(exchange, message)
      })

      return McpEndpoint.of({
        serve: (sent, response, server) => {
          const requestId = newRequestId()
          if (!admitsOrigin(sent.headers["origin"])) {
            return Effect.sync(() => refuse(response, undefined, foreignOrigin))
          }
          const request = { ...withCredential(sent), tools: { server } }
          const served = Effect.flatMap(identify(request, requestId), (authenticated) =>
            serve(authenticated, response, server),
          )
          return Effect.catch(served, (failure) => {
            const error = toServiceError(failure)
            return Effect.map(logCause(error, requestId), () =>
              fail(response, error, requestId, challengeOf(originOf(config, request), server, request.headers)),
            )
          })
        },
      })
    }),
  )
}

/** The streams of changes that a key, or an end user of it, has at a time on one node. */
const mostStreams = 1000
const tooManyStreams = serviceError("rate_limited", "Too many streams of changes are open", { retryAfterMs: 60_000 })

const fail = (response: ServerResponse, error: ServiceError, requestId: string, challenge: string): void => {
  if (response.headersSent) return void response.destroy()
  const status = errorStatus[error.code]
  write(response, status, errorText(undefined, errorOf(error, requestId)), {
    "x-svc-request-id": requestId,
    ...(error.retryAfterMs !== undefined && { "retry-after": String(Math.ceil(error.retryAfterMs / 1000)) }),
    ...(status === 401 && { "www-authenticate": challenge }),
  })
}
